/** Scripted runs, written entry by entry through `writeEntry` in the order the machine keeps. */

import type { ExecutionContract } from "../../../../src/kernel/contract/contract.ts";
import { DEFAULT_TERMS } from "../../../../src/kernel/contract/default-terms.ts";
import { sealContract } from "../../../../src/kernel/contract/seal-contract.ts";
import { nameModel, startChain, writeEntry } from "../../../../src/kernel/journal/chain.ts";
import type {
  Budget,
  DecidedCall,
  DecidedOf,
  Entry,
  EntryKind,
  EntryOf,
  Result,
} from "../../../../src/kernel/journal/entry.ts";
import type { ProposedCall, RunEvent } from "../../../../src/kernel/journal/event.ts";
import type { Lookup } from "../../../../src/kernel/journal/views/body-content.ts";
import {
  asApprovalId,
  asCallId,
  asRunId,
  type BodyRef,
  type CallId,
} from "../../../../src/kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS, USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import type { Outcome } from "../../../../src/kernel/vocabulary/outcome.ts";
import * as canned from "./canned-events.ts";
import { type CallScript, type CallsScript, call, calls, type RunEnd, TOOLS, type TurnScript } from "./run-script.ts";

export const RUN_ID = asRunId("run_1");
export const MODEL = "acme:large";
export interface Run {
  readonly entries: readonly Entry[];
  readonly contract: ExecutionContract;
  readonly bodies: ReadonlyMap<BodyRef, string>;
  readonly lookup: Lookup;
}

export function writeRun(turns: readonly TurnScript[], end: RunEnd): Run {
  const writer = new RunWriter();
  if (writer.create(end)) {
    for (const turn of turns) writer.turn(turn);
    writer.end(end);
  }
  const { entries, contract } = writer;
  const bodies = writer.bodies.texts;
  return { entries, contract, bodies, lookup: (ref) => bodies.get(ref) ?? null };
}

class RunWriter {
  readonly entries: Entry[] = [];
  readonly bodies = new canned.Bodies();
  readonly contract = sealContract({
    ...DEFAULT_TERMS,
    contractId: "contract-1",
    allowedTools: [...TOOLS],
    adapterVersion: "native-tools/1",
    modelProfileId: "native-tools",
    toolsDigest: canned.hashOf("tools"),
    model: MODEL,
  });
  #head = startChain(RUN_ID, this.contract);
  #step = 0;
  #budget: Budget = {
    inferences: 0,
    formatRetries: 0,
    tokens: 0,
    toolOutputBytes: 0,
    spendMicrousd: 0,
    performed: 0,
    succeeded: 0,
  };

  /** Whether the run gets as far as its first turn. */
  create(end: RunEnd): boolean {
    const cancel = this.#event({ type: "cancel.requested", by: "operator" });
    const accepted = this.#event(canned.acceptance(this.bodies));
    const passed = (["context", "structure", "tools", "profile", "backend"] as const).map((check) => ({
      check,
      failure: null,
      detail: "",
    }));
    switch (end) {
      case "cancelled-queued":
        this.#created([cancel], []);
        this.#terminate("INTERRUPTED", "run.cancelled");
        return false;
      case "cancelled-checking":
        this.#created([accepted, cancel], passed.slice(0, 4));
        this.#terminate("INTERRUPTED", "run.cancelled");
        return false;
      case "preflight-failed": {
        const failed = { check: "structure", failure: "contract.invalid", detail: "max_inferences" } as const;
        this.#created([accepted], [...passed.slice(0, 1), failed]);
        this.#terminate("FAILED_PREFLIGHT", "contract.invalid");
        return false;
      }
      default: {
        const checked = this.#event({ type: "backend.checked", responsive: true, detail: "" });
        this.#created([accepted, checked], passed);
        return true;
      }
    }
  }

  turn(turn: TurnScript): void {
    switch (turn.kind) {
      case "rejected":
        this.#infer(canned.rejectedAnswer(this.bodies, this.#step + 1));
        this.#budget = { ...this.#budget, formatRetries: this.#budget.formatRetries + 1 };
        break;
      case "unreachable":
        this.#infer(canned.unreachable(this.#step + 1));
        break;
      case "calls":
        this.#perform(turn, this.#propose(turn));
        break;
    }
    this.#commit("INFER");
  }

  end(end: RunEnd): void {
    switch (end) {
      case "answered": {
        const answer = canned.answer(this.bodies, this.#step + 1, [], true);
        this.#infer(answer);
        this.#add("VALIDATE_CALLS", { calls: [], heard: [] });
        const outcome = this.#budget.performed > 0 ? "COMPLETED_WITH_TOOLS" : "COMPLETED_CHAT_ONLY";
        this.#terminate(outcome, null, { result: { type: "run.answered", ref: answer.textRef as BodyRef } });
        break;
      }
      case "escalated": {
        const turn = calls(call("http.get", { end: "error" }));
        this.#perform(turn, this.#propose(turn));
        const attempts = [
          canned.attempt(this.bodies, "http.get", "internal.error"),
          canned.attempt(this.bodies, "fs.read_text", null),
        ];
        this.#terminate("FAILED_BUDGET_EXHAUSTED", "tool_failure_escalation", { attempts });
        break;
      }
      case "cancelled-inferring":
        this.#infer({ type: "cancel.requested", by: "operator" });
        this.#terminate("INTERRUPTED", "run.cancelled");
        break;
      case "timed-out-inferring":
        this.#infer({ type: "timer.fired", timer: "run" });
        this.#terminate("FAILED_TIMEOUT", "run.timeout");
        break;
      case "unavailable":
        this.#infer(canned.unreachable(this.#step + 1));
        this.#terminate("FAILED_PROTOCOL_MALFORMED", "provider.unavailable");
        break;
      case "compaction-failed":
        this.#infer(canned.failedCompaction());
        this.#terminate("FAILED_BUDGET_EXHAUSTED", "context.exhausted");
        break;
      default:
        this.#cut(end);
    }
  }

  /** Three calls: two in flight when the run ends, one that never came to its turn. */
  #cut(end: RunEnd): void {
    const scripts = [call("http.get"), call("fs.read_text", { arg: 2 }), call("fs.write_text", { arg: 0 })];
    const [first, second, third] = this.#propose(calls(...scripts)).map(({ callId }) => callId) as [
      CallId,
      CallId,
      CallId,
    ];
    this.#execute(first, call("http.get"), []);
    this.#execute(second, call("fs.read_text", { arg: 2 }), []);
    if (end === "cut-defect") {
      const heard = [this.#event({ type: "defect.found", errorId: "e1" })];
      this.#terminate("FAILED_CONTRACT_VIOLATION", "defect", { heard });
      return;
    }
    const { outcome, reason, result } = cutBy(end, first);
    this.#observe(first, [], result);
    this.#observe(second, [], { type: "call.abandoned" });
    this.#terminate(outcome, reason, { skipped: [third] });
  }

  #propose(turn: CallsScript): readonly DecidedCall[] {
    const proposed = turn.calls.map(({ tool, arg }, index) => ({
      callId: asCallId(`t${index + 1}`),
      tool,
      argsRef: this.bodies.args(tool, arg),
    }));
    this.#infer(canned.answer(this.bodies, this.#step + 1, proposed, turn.says));
    const decided = proposed.map((each, index) => this.#decide(each, turn.calls[index] as CallScript));
    const heard = decided.flatMap((each, index) => this.#approval(each, turn.calls[index] as CallScript));
    this.#add("VALIDATE_CALLS", { calls: decided, heard });
    return decided;
  }

  #decide(proposed: ProposedCall, script: CallScript): DecidedCall {
    const planHash = canned.hashOf(`plan ${proposed.argsRef}`);
    const frame = { ...proposed, planHash, policyId: "policy.risk.read_only", approvalId: null, refusal: null };
    switch (script.decision) {
      case "allow":
        return { ...frame, decision: "allow" };
      case "approve":
        return { ...frame, decision: "allow", approvalId: asApprovalId(`approval-${proposed.callId}`) };
      case "deny-by-user": {
        const refusal = { code: "policy.denied", message: "denied by user", messageRef: null };
        return { ...frame, decision: "deny", refusal };
      }
      case "deny": {
        const messageRef = this.bodies.ref(`${canned.CANARY} bad argument`);
        return {
          ...frame,
          planHash: null,
          decision: "deny",
          refusal: { code: "tool.input_invalid", message: "", messageRef },
        };
      }
    }
  }

  #approval({ callId, planHash }: DecidedCall, { decision }: CallScript): readonly RunEvent[] {
    if (decision !== "approve" && decision !== "deny-by-user") return [];
    const given = decision === "approve" ? "allow" : "deny";
    const approvalId = asApprovalId(`approval-${callId}`);
    return [
      this.#event({ type: "approval.decided", step: 1, approvalId, callId, planHash, decision: given, by: "owner" }),
    ];
  }

  #perform(turn: CallsScript, decided: readonly DecidedCall[]): void {
    const executions: { script: CallScript; callId: CallId; sharedBy: CallId[] }[] = [];
    for (const [index, { callId, decision }] of decided.entries()) {
      const script = turn.calls[index] as CallScript;
      if (decision === "deny") continue;
      const before = executions.at(-1);
      if (script.shares && before !== undefined) before.sharedBy.push(callId);
      else executions.push({ script, callId, sharedBy: [] });
    }
    if (turn.overlaps) {
      for (const { callId, script, sharedBy } of executions) this.#execute(callId, script, sharedBy);
    }
    for (const { callId, script, sharedBy } of executions) {
      if (!turn.overlaps) this.#execute(callId, script, sharedBy);
      this.#observe(callId, sharedBy, canned.callEnded(this.bodies, callId, script.end));
      if (script.end === "retried") {
        this.#execute(callId, script, sharedBy);
        this.#observe(callId, sharedBy, canned.callEnded(this.bodies, callId, "ok"));
      }
      const succeeded = this.#budget.succeeded + (["ok", "done", "retried", "child"].includes(script.end) ? 1 : 0);
      this.#budget = { ...this.#budget, performed: this.#budget.performed + 1, succeeded };
    }
  }

  #execute(callId: CallId, { tool, arg, end }: CallScript, sharedBy: readonly CallId[]): void {
    const argsRef = this.bodies.args(tool, arg);
    const budget = { inferences: 2, tokens: 100, spendMicrousd: 50 };
    const child = { runId: asRunId("run_child"), contractHash: canned.hashOf("child contract"), budget };
    this.#add("EXECUTE", {
      callId,
      tool,
      argsRef,
      planHash: canned.hashOf(`plan ${argsRef}`),
      idempotency: "read_only",
      idempotencyKey: null,
      approvalId: null,
      sharedBy: [...sharedBy],
      child: end === "child" ? child : null,
    });
  }

  #observe(callId: CallId, sharedBy: readonly CallId[], result: Result): void {
    this.#add("OBSERVE", { callId, planHash: canned.hashOf("plan"), sharedBy: [...sharedBy], heard: [] }, result);
  }

  #infer(result: Result): void {
    this.#step += 1;
    const { inferences, tokens, spendMicrousd } = this.#budget;
    this.#budget = {
      ...this.#budget,
      inferences: inferences + 1,
      tokens: tokens + 10,
      spendMicrousd: spendMicrousd + 3,
    };
    if (result?.type === "model.answered") this.#head = nameModel(this.#head, result.fingerprint);
    const decided: DecidedOf<"INFER"> = {
      promptHead: canned.hashOf("prompt"),
      attempt: this.#step,
      mode: "normal",
      maxOutputTokens: 512,
      constraintHash: canned.hashOf("constraint"),
      heard: [],
    };
    this.#add("INFER", decided, result, "model");
  }

  #commit(next: "INFER" | "TERMINATE", skipped: readonly CallId[] = [], heard: readonly RunEvent[] = []): void {
    const recovery = { active: false, failuresInARow: 0, failuresInRecovery: 0, successesInARow: 0 };
    const decided = {
      budget: this.#budget,
      recovery,
      cycle: 0,
      promptTokens: 30,
      skipped: skipped.map((callId) => ({ callId, policyId: null })),
      next,
    };
    this.#add("COMMIT", { ...decided, heard });
  }

  #terminate(
    outcome: Outcome,
    reason: string | null,
    ending: {
      readonly result?: Result;
      readonly skipped?: readonly CallId[];
      readonly heard?: readonly RunEvent[];
      readonly attempts?: DecidedOf<"TERMINATE">["attempts"];
    } = {},
  ): void {
    this.#commit("TERMINATE", ending.skipped, ending.heard);
    this.#add("TERMINATE", { outcome, reason, attempts: ending.attempts ?? [] }, ending.result);
  }

  #created(heard: readonly RunEvent[], verdicts: DecidedOf<"run.created">["verdicts"]): void {
    const accepted = heard.find((event) => event.type === "run.accepted");
    const principal = accepted?.principal ?? "system";
    const { contractHash } = this.contract;
    const decided = { messageRef: accepted?.messageRef ?? null, principal, contractHash, verdicts, heard };
    this.#add("run.created", decided, null, principal);
  }

  #event(event: { readonly type: RunEvent["type"] } & Readonly<Record<string, unknown>>): RunEvent {
    return { ...event, ...timeAt(this.entries.length) } as unknown as RunEvent;
  }

  #add<K extends EntryKind>(kind: K, decided: DecidedOf<K>, result: Result = null, actor = "system"): void {
    const time = timeAt(this.entries.length + 1);
    const labels = this.#step === 0 ? CLEAN_LABELS : USER_LABELS;
    const { linked, frame } = this.#head;
    const seq = linked.seq + 1;
    const said = { seq, kind, ...time, stepId: `step-${this.#step}`, actor, labels, decided, result, frame };
    const entry: EntryOf<K> = writeEntry(linked.hash, said).entry;
    this.#head = { seq, frame, linked: { seq, hash: entry.hash } };
    this.entries.push(entry as unknown as Entry);
  }
}

/** One second an entry: the first event is heard at 10:00:00.250, the first entry written at 10:00:01.250. */
function timeAt(seconds: number): { readonly ts: string; readonly elapsedMs: number } {
  const two = (value: number): string => String(value).padStart(2, "0");
  const ts = `2026-02-15T10:${two(Math.floor(seconds / 60))}:${two(seconds % 60)}.250Z`;
  return { ts, elapsedMs: seconds * 100 };
}

function cutBy(end: RunEnd, callId: CallId): { outcome: Outcome; reason: string; result: Result } {
  switch (end) {
    case "cut-timed-out":
      return { outcome: "FAILED_TIMEOUT", reason: "run.timeout", result: { type: "timer.fired", timer: "run" } };
    case "cut-expired": {
      const result = {
        type: "effect.resolved",
        step: 1,
        callId,
        decision: "expired",
        by: "system",
        tokens: 0,
      } as const;
      return { outcome: "INTERRUPTED", reason: "effect.unresolved", result };
    }
    default:
      return {
        outcome: "INTERRUPTED",
        reason: "run.cancelled",
        result: { type: "cancel.requested", by: "operator" },
      };
  }
}
