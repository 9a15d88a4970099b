import fc from "fast-check";
import { Compile } from "typebox/compile";
import { expect, test } from "vitest";
import { AuditEventSchema, auditEvents, auditFileOf } from "../../../../src/kernel/journal/views/audit-events.ts";
import { lifecycleEvents } from "../../../../src/kernel/journal/views/lifecycle-events.ts";
import type { JsonValue } from "../../../../src/kernel/vocabulary/parse-json.ts";
import { verifies } from "../../../requirements.ts";
import { anyRun } from "./any-run.ts";
import { CANARY } from "./canned-events.ts";
import { call, calls } from "./run-script.ts";
import { writeRun } from "./write-run.ts";

const isValid = Compile(AuditEventSchema);

verifies("O-3.1", "the audit log is the lifecycle with its actors, in the base schema and without content", () => {
  fc.assert(
    fc.property(anyRun, ({ entries }) => {
      const events = auditEvents(entries);
      expect(events.filter((event) => !isValid.Check(event))).toEqual([]);
      expect(events.map(({ actor: _actor, redactions: _redactions, ...event }) => event)).toEqual(
        lifecycleEvents(entries),
      );
      expect(events.every(({ redactions }) => redactions.length === 0)).toBe(true);
      expect(JSON.stringify(events)).not.toContain(CANARY);
    }),
  );
});

verifies("O-3.1", "a growing journal only appends audit lines", () => {
  fc.assert(
    fc.property(anyRun, fc.nat(), ({ entries }, cut) => {
      const some = auditEvents(entries.slice(0, cut % (entries.length + 1)));
      expect(some).toEqual(auditEvents(entries).slice(0, some.length));
    }),
  );
});

test("the actor is the entry's: who asked, the model, or the system", () => {
  const { entries } = writeRun([calls(call("http.get"))], "answered");
  expect(auditEvents(entries).map(({ event_type, actor }) => `${event_type} ${actor}`)).toEqual([
    "run.created user:ada",
    "run.started user:ada",
    "model.requested model",
    "tool.call system",
    "tool.result system",
    "model.requested model",
    "run.completed system",
  ]);
});

verifies("O-3.2", "what was redacted is replaced before the write and listed by its path", () => {
  const { entries } = writeRun([calls(call("http.get", { decision: "approve" }))], "answered");
  const events = auditEvents(entries, (payload) => {
    const fields = payload as { readonly [key: string]: JsonValue };
    if (!("approval" in fields)) return { value: payload, paths: [] };
    return { value: { ...fields, approval: "[redacted]" }, paths: ["approval", "approval.by"] };
  });
  const redacted = events.filter(({ redactions }) => redactions.length > 0);
  expect(redacted.map(({ event_type }) => event_type)).toEqual(["tool.call"]);
  expect(redacted[0]?.redactions).toEqual(["payload.approval", "payload.approval.by"]);
  expect(redacted[0]?.payload).toMatchObject({ call_id: "t1", approval: "[redacted]" });
  expect(JSON.stringify(redacted)).not.toContain("owner");
});

verifies("O-3.1", "there is one file per agent and UTC day", () => {
  expect(auditFileOf("main", "2026-02-15T23:59:59.999Z")).toBe("agents/main/audit/2026-02-15.jsonl");
  expect(auditFileOf("ops", "2026-02-16T00:00:00.000Z")).toBe("agents/ops/audit/2026-02-16.jsonl");
});
