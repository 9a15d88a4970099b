/** What the world answers in the scripted runs. Every body holds the canary, and nothing but a body does. */
import type { DecidedOf, Result } from "../../../../src/kernel/journal/entry.ts";
import type { EventOf } from "../../../../src/kernel/journal/event.ts";
import { hashBytes } from "../../../../src/kernel/vocabulary/hash.ts";
import { asBodyRef, asRunId, type BodyRef, type CallId } from "../../../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";

export const CANARY = "canary";

/** How a performed call ends. */
export const CALL_ENDS = [
  "ok",
  "error",
  "malformed",
  "unknown",
  "done",
  "fail",
  "retried",
  "timeout",
  "child",
] as const;
export type CallEnd = (typeof CALL_ENDS)[number];

export const hashOf = (text: string) => hashBytes(`hash of ${text}`);

/** The bodies of one run. */
export class Bodies {
  readonly texts = new Map<BodyRef, string>();

  ref(text: string): BodyRef {
    const ref = asBodyRef(hashBytes(`salt ${text}`));
    this.texts.set(ref, text);
    return ref;
  }

  args(tool: string, arg: number): BodyRef {
    const task = tool === "agent.delegate" ? `"agent":"${CANARY} agent","description":"${CANARY} task",` : "";
    return this.ref(`{${task}"n":"${CANARY} ${arg}"}`);
  }
}

export function acceptance(bodies: Bodies) {
  return {
    type: "run.accepted",
    messageRef: bodies.ref(`${CANARY} message`),
    agentId: "main",
    sessionId: "session-1",
    principal: "user:ada",
    labels: USER_LABELS,
    prompt: { head: hashOf("prompt"), tokens: 30, manifest: hashOf("manifest") },
    retrieved: [{ id: "mem_1", score: 0.412 }],
    tools: { digest: hashOf("tools"), names: ["fs.read_text"] },
    profile: {
      id: "native-tools",
      adapterVersion: "native-tools/1",
      supportsTools: true,
      holdsRequired: true,
      grammarProfiles: [],
    },
  } as const;
}

export function answer(bodies: Bodies, attempt: number, calls: EventOf<"model.answered">["calls"], says: boolean) {
  const actions = [{ action: "condense_now", status: "done" }];
  return {
    type: "model.answered",
    attempt,
    rawHash: hashOf("raw"),
    adapter: { status: "native", failureCode: null, version: "native-tools/1" },
    messageRef: bodies.ref(`${CANARY} message ${attempt}`),
    textRef: says ? bodies.ref(`${CANARY} text ${attempt}`) : null,
    calls,
    notes: says ? { status: "applied", ref: bodies.ref(`${CANARY} notes`), actions } : null,
    usage: { inputTokens: 8, outputTokens: 2, costMicrousd: 3 },
    tokens: 2,
    stopReason: "stop",
    fingerprint: "large-2026",
    stream: { chunks: 4, chars: 40, firstMs: 5, lastMs: 9 },
  } as const satisfies Result;
}

export function rejectedAnswer(bodies: Bodies, attempt: number) {
  const adapter = { status: "rejected", failureCode: "marker.unclosed", version: "native-tools/1" } as const;
  return { ...answer(bodies, attempt, [], false), adapter, messageRef: null } as const satisfies Result;
}

export function unreachable(attempt: number) {
  const usage = { inputTokens: 1, outputTokens: 0, costMicrousd: 1 };
  return { type: "model.failed", attempt, code: "http.503", retryable: true, retryAfterMs: 0, usage } as const;
}

export function failedCompaction() {
  const usage = { inputTokens: 7, outputTokens: 3, costMicrousd: 2 };
  return { type: "context.compacted", step: 1, succeeded: false, head: hashOf("prompt"), tokens: 9, usage } as const;
}

function finished(bodies: Bodies, callId: CallId, ok: boolean) {
  const error = { code: "internal.error", retryable: true, messageRef: bodies.ref(`${CANARY} went wrong`) } as const;
  const response = {
    ok,
    outputRef: ok ? bodies.ref(`{"text":"${CANARY} output"}`) : null,
    outputBytes: ok ? 24 : 0,
    truncated: ok,
    error: ok ? null : error,
    durationMs: 12,
  };
  return { type: "tool.finished", step: 1, callId, response, labels: USER_LABELS, tokens: 6 } as const;
}

export function callEnded(bodies: Bodies, callId: CallId, end: CallEnd): Result {
  const resolved = { type: "effect.resolved", step: 1, callId, by: "operator", tokens: 4 } as const;
  switch (end) {
    case "ok":
    case "error":
      return finished(bodies, callId, end === "ok");
    case "malformed":
      return { type: "tool.malformed", step: 1, callId, problem: "no object" };
    case "unknown":
      return { type: "effect.unknown", step: 1, callId };
    case "done":
    case "fail":
      return { ...resolved, decision: end };
    case "retried":
      return { ...resolved, decision: "retry" };
    case "timeout":
      return { type: "timer.fired", timer: "tool" };
    case "child": {
      const { response, labels, tokens } = finished(bodies, callId, true);
      const spent = { inferences: 1, tokens: 20, spendMicrousd: 5 };
      const childRunId = asRunId("run_child");
      const child = { childRunId, outcome: "COMPLETED_CHAT_ONLY", headHash: hashOf("child") } as const;
      return { type: "child.finished", step: 1, callId, ...child, spent, response, labels, tokens };
    }
  }
}

export function attempt(bodies: Bodies, tool: string, code: string | null): DecidedOf<"TERMINATE">["attempts"][number] {
  const messageRef = code === null ? null : bodies.ref(`${CANARY} went wrong`);
  const outputRef = code === null ? bodies.ref(`${CANARY} half an output`) : null;
  return { tool, argsRef: bodies.args(tool, 1), code, messageRef, outputRef };
}
