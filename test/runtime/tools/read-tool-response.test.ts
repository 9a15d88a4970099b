import { expect, test } from "vitest";
import type { RecordedResponse } from "../../../src/kernel/journal/event.ts";
import { compileRedactor } from "../../../src/kernel/redaction/redact.ts";
import { asCallId, asRunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../../src/kernel/vocabulary/parse-json.ts";
import type { ToolError, ToolResponse } from "../../../src/kernel/vocabulary/tool-envelope.ts";
import { BodyCache } from "../../../src/runtime/run/body-cache.ts";
import { toolAnswer } from "../../../src/runtime/tools/read-tool-response.ts";
import { contractOf } from "../../kernel/machine/scripted-run.ts";
import { verifies } from "../../requirements.ts";

const SECRET = "sk-hidden-value-1234567890";
const COMMAND = { step: 1, callId: asCallId("c1") } as const;
const ENVELOPE = {
  ...{ requestId: "run_1:1:c1", runId: asRunId("run_1"), tool: "shell.exec" },
  finishedAt: "2026-01-02T03:04:05.000Z",
} as const;

/** One run: its bodies are shared by the answers. */
function answering(volatileFields: readonly string[], maxBytesPerCall = 20_000) {
  const compiled = compileRedactor({ secrets: [{ name: "KEY", value: SECRET }], emails: false, phones: false });
  if (!compiled.ok) throw new Error(compiled.reason);
  let salts = 0;
  const bodies = new BodyCache((bytes) => new Uint8Array(bytes).fill(salts++), new Map());
  const context = {
    contract: contractOf({ toolOutputBudget: { maxBytesPerCall, truncationMarker: "…", summarizerModel: null } }),
    redactor: compiled.redactor,
    envelope: ENVELOPE,
    keep: (text: string) => bodies.keep(text),
    summarize: null,
    tokensOf: () => 1,
  };
  const answer = (envelope: Partial<ToolResponse>): RecordedResponse => {
    const planned = { labels: USER_LABELS, idempotency: "keyed", volatileFields } as const;
    const told = { requestId: "x", runId: "x", tool: "x", durationMs: 3, finishedAt: "never" };
    const event = toolAnswer(context, COMMAND, planned, { ...told, ...envelope });
    if (!("type" in event) || event.type !== "tool.finished") throw new Error("no result");
    return event.response;
  };
  return {
    bodies,
    output: (output: JsonValue) => answer({ ok: true, output, error: null }),
    error: (error: Partial<ToolError>) =>
      answer({ ok: false, error: { code: "invalid.request", message: "no", retryable: false, details: {}, ...error } }),
  };
}

verifies("X-7/volatile", "outputs that differ in volatile fields only have one stable ref, others do not", () => {
  const { output } = answering(["duration_ms"]);
  const first = output({ exit_code: 0, stdout: "a", duration_ms: 7 });
  const second = output({ stdout: "a", duration_ms: 12_345, exit_code: 0 });
  expect(first.outputRef).not.toBe(second.outputRef);
  expect(first.stableRef).toBeTypeOf("string");
  expect(first.stableRef).toBe(second.stableRef);
  expect(output({ exit_code: 1, stdout: "a", duration_ms: 7 }).stableRef).not.toBe(first.stableRef);
});

test("an output that was cut is compared as far as the model sees it", () => {
  const { output } = answering(["duration_ms"], 100);
  const long = (tail: string, ms: number): JsonValue => ({ duration_ms: ms, stdout: "x".repeat(200) + tail });
  expect(output(long("a", 1)).stableRef).toBe(output(long("b", 100_000)).stableRef);
});

test("without a volatile field in it an output has no stable ref: the output itself is compared", () => {
  const { output } = answering(["duration_ms"]);
  for (const each of ["text", ["duration_ms"], null, { stdout: "a" }, { inner: { duration_ms: 1 } }]) {
    expect(output(each)).not.toHaveProperty("stableRef");
  }
});

verifies("O-1.2/recorded", "a recorded response names request, run, tool and time as the runtime knows them", () => {
  const { output, error } = answering([]);
  expect(output("hello")).toMatchObject({ ...ENVELOPE, ok: true, error: null, durationMs: 3 });
  expect(error({})).toMatchObject({ ...ENVELOPE, ok: false, outputRef: null });
});

verifies("O-1.3/shape", "the details of an error are kept as a redacted body, and only if there are any", () => {
  const { bodies, error } = answering([], 100);
  const { error: recorded } = error({ details: { path: "a.txt", key: SECRET } });
  const body = bodies.read(recorded?.detailsRef ?? ("" as never)) ?? "";
  expect(JSON.parse(body)).toMatchObject({ path: "a.txt" });
  expect(body).not.toContain(SECRET);
  expect(error({}).error).not.toHaveProperty("detailsRef");
  expect(error({ details: { long: "x".repeat(200) } }).error).not.toHaveProperty("detailsRef");
});
