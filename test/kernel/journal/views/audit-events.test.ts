import fc from "fast-check";
import { Compile } from "typebox/compile";
import { expect, test } from "vitest";
import { AuditEventSchema, auditEvents, auditFileOf } from "../../../../src/kernel/journal/views/audit-events.ts";
import { lifecycleEvents } from "../../../../src/kernel/journal/views/lifecycle-events.ts";
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

verifies(
  "O-3.2",
  "a call's input is there as it was redacted before it was recorded, and each marker has its path",
  () => {
    const input = {
      url: "https://example.org",
      headers: [{ name: "Authorization", value: "Bearer ⟦secret:API_KEY⟧" }, "plain"],
      "[REDACTED:email]": { note: "call [REDACTED:phone] and [REDACTED:phone]", also: "[REDACTED:" },
    };
    const { entries } = writeRun([calls(call("http.get"))], "answered");
    const events = auditEvents(entries, () => JSON.stringify(input));
    const called = events.filter(({ event_type }) => event_type === "tool.call");
    expect(called).toHaveLength(1);
    expect(called[0]?.payload).toMatchObject({ call_id: "t1", input });
    expect(called[0]?.redactions).toEqual([
      "payload.input.headers[0].value",
      "payload.input.[REDACTED:email]",
      "payload.input.[REDACTED:email].note",
    ]);
    expect(events.filter((event) => !isValid.Check(event))).toEqual([]);
    expect(events.filter((event) => event !== called[0] && "input" in event.payload)).toEqual([]);
  },
);

test("of a long input at most 2 kB are kept, short fields whole; an erased one is its ref", () => {
  const { entries } = writeRun([calls(call("http.get"))], "answered");
  const payloadOf = (body: string | null) =>
    auditEvents(entries, () => body).find(({ event_type }) => event_type === "tool.call")?.payload;
  const inputOf = (input: unknown) => payloadOf(JSON.stringify(input))?.["input"];
  expect(inputOf({ path: "a.txt", text: "€".repeat(5_000) })).toEqual({
    path: "a.txt",
    text: `${"€".repeat(250)}… [cut]`,
  });
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.string({ maxLength: 3_000 })), (input) => {
      expect(Buffer.byteLength(JSON.stringify(inputOf(input)))).toBeLessThanOrEqual(2_048);
    }),
  );
  expect(payloadOf(null)).toHaveProperty("args_ref");
  expect(payloadOf(null)).not.toHaveProperty("input");
});

verifies("O-3.1", "there is one file per agent and UTC day", () => {
  expect(auditFileOf("main", "2026-02-15T23:59:59.999Z")).toBe("agents/main/audit/2026-02-15.jsonl");
  expect(auditFileOf("ops", "2026-02-16T00:00:00.000Z")).toBe("agents/ops/audit/2026-02-16.jsonl");
});
