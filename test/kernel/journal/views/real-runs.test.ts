/** The views over what the machine itself writes, also in histories that no driver would ever produce. */
import fc from "fast-check";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { expect, test } from "vitest";
import type { Entry } from "../../../../src/kernel/journal/entry.ts";
import { verifyEntries } from "../../../../src/kernel/journal/verify-journal.ts";
import { agentChunks } from "../../../../src/kernel/journal/views/agent-chunks.ts";
import { AuditEventSchema, auditEvents } from "../../../../src/kernel/journal/views/audit-events.ts";
import { LifecycleEventSchema, lifecycleEvents } from "../../../../src/kernel/journal/views/lifecycle-events.ts";
import { loopState } from "../../../../src/kernel/journal/views/loop-state.ts";
import { RunSummarySchema, runSummary } from "../../../../src/kernel/journal/views/run-summary.ts";
import { TraceEventSchema, traceEvents } from "../../../../src/kernel/journal/views/trace-events.ts";
import { WsMessageSchema, websocketMessages } from "../../../../src/kernel/journal/views/websocket-messages.ts";
import { terminalStatus } from "../../../../src/kernel/vocabulary/outcome.ts";
import { verifies } from "../../../requirements.ts";
import { anyHistory, type History } from "../../machine/any-history.ts";

function always(check: (history: History) => void): void {
  fc.assert(fc.property(anyHistory, check), { numRuns: 60 });
}
const countOf = <T>(list: readonly T[], isWanted: (item: T) => boolean): number => list.filter(isWanted).length;

verifies(["O-2.1", "O-3.1", "S-6.1", "T-1.1", "M-P4a"], "every view of a real run has its published shape", () => {
  const views: readonly (readonly [TSchema, (entries: readonly Entry[]) => readonly unknown[]])[] = [
    [LifecycleEventSchema, lifecycleEvents],
    [AuditEventSchema, (entries) => auditEvents(entries)],
    [TraceEventSchema, traceEvents],
    [WsMessageSchema, (entries) => websocketMessages(entries, () => null, "acme:large")],
    [RunSummarySchema, (entries) => [runSummary(entries)].filter((summary) => summary !== null)],
  ];
  const checks = views.map(([schema, view]) => [Compile(schema), view] as const);
  always(({ entries }) => {
    for (const [schema, view] of checks) expect(view(entries).filter((item) => !schema.Check(item))).toEqual([]);
  });
});

verifies("O-2.1", "a real run's calls and results pair up, and it has one terminal event when it has ended", () => {
  always(({ entries, last }) => {
    const events = lifecycleEvents(entries);
    const open: string[] = [];
    for (const { event_type, payload } of events) {
      if (event_type === "tool.call") open.push(`${payload.step_id} ${payload.call_id}`);
      if (event_type === "tool.result") {
        const place = open.indexOf(`${payload.step_id} ${payload.call_id}`);
        expect(place).toBeGreaterThanOrEqual(0);
        open.splice(place, 1);
      }
      if (event_type === "model.requested") expect(open).toEqual([]);
    }
    const terminal = events.filter(({ event_type }) => /^run\.(completed|failed|cancelled)$/.test(event_type));
    expect(terminal.length).toBe(last.phase.at === "TERMINATE" ? 1 : 0);
    if (last.phase.at !== "TERMINATE") return;
    expect(open).toEqual([]);
    expect(terminal).toEqual(events.slice(-1));
    expect(terminal[0]?.event_type).toBe(`run.${terminalStatus(last.phase.outcome)}`);
    expect(events[0]?.event_type).toBe("run.created");
  });
});

verifies("O-2.1", "what a real run's stream has told stays told", () => {
  always(({ steps, entries }) => {
    const all = lifecycleEvents(entries);
    let known: readonly Entry[] = [];
    for (const step of steps) {
      known = [...known, ...step.entries];
      const told = lifecycleEvents(known);
      expect(told).toEqual(all.slice(0, told.length));
    }
  });
});

verifies("S-6.1", "a real run's requests and executions are all traced to their end", () => {
  always(({ entries, last }) => {
    const kinds = traceEvents(entries).map(({ kind }) => kind);
    expect(countOf(kinds, (kind) => kind === "llm_done")).toBe(countOf(kinds, (kind) => kind === "llm_req"));
    if (last.phase.at !== "TERMINATE") return;
    expect(countOf(kinds, (kind) => kind === "tool_done")).toBe(countOf(kinds, (kind) => kind === "tool_start"));
  });
});

verifies("M-P4a", "a real run's summary counts what its budget counts", () => {
  always(({ entries, last }) => {
    const summary = runSummary(entries);
    expect(summary !== null).toBe(last.phase.at === "TERMINATE");
    if (summary === null) return;
    const used = Object.values(summary.tools);
    expect(used.reduce((sum, { performed }) => sum + performed, 0)).toBe(last.committedBudget.performed);
    expect(used.reduce((sum, { performed, failed }) => sum + performed - failed, 0)).toBe(
      last.committedBudget.succeeded,
    );
    expect(summary.steps).toBe(countOf(entries, ({ kind }) => kind === "INFER"));
  });
});

verifies("M-P5.1", "a real run's journal verifies after every step", () => {
  always(({ contract: { contractHash }, steps }) => {
    let known: readonly Entry[] = [];
    for (const step of steps) {
      known = [...known, ...step.entries];
      expect(verifyEntries(known, { contractHash })).toMatchObject({ ok: true, length: known.length });
    }
  });
});

verifies("T-3.1", "a real run's loop is done when the run is", () => {
  const around = { goals: [], openLoops: [], closedLoops: [], maxInferences: 10, isCompacting: false };
  always(({ entries, last }) => {
    const { phase } = loopState(entries, around);
    expect(phase === "done").toBe(last.phase.at === "TERMINATE");
    const chunks = agentChunks(entries, () => null, false).map(({ type }) => type);
    expect(countOf(chunks, (type) => type === "done")).toBe(phase === "done" ? 1 : 0);
  });
});

test("the histories are worth looking at: runs end, perform calls, refuse, skip and retry them", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(anyHistory, ({ entries }) => {
      for (const event of lifecycleEvents(entries)) {
        seen.add(event.event_type === "tool.result" ? event.payload.ended_by : event.event_type);
      }
    }),
    { numRuns: 300, seed: 1 },
  );
  const expected = ["run.completed", "run.failed", "run.cancelled", "tool.finished", "call.refused", "effect.resolved"];
  expect(expected.filter((name) => !seen.has(name))).toEqual([]);
});
