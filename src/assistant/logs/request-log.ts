/**
 * The log record of each request to a model (P-4.1), in the folder of its provider, and of what policy decided about the
 * calls of its answer.
 *
 * L1. The record waits for the decision, so that one line has both. When a person is asked first, it is written at once,
 *     and the decision follows as a record with the same request_id.
 * L2. No content: names of tools are written only if such a tool is registered, because a model may write anything (P-4.2).
 */
import type { DecidedCall, Entry } from "../../kernel/journal/entry.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { ModelCall } from "../../runtime/model/model-call.ts";
import type { Log, LogFields } from "../../runtime/ports/log.ts";
import type { StoredRun } from "../../runtime/ports/store.ts";
import type { Toolbox } from "../../runtime/ports/toolbox.ts";

/** Keeps a record small, whatever a model proposes. */
const MAX_CALLS = 50;

interface Waiting {
  readonly call: ModelCall;
  readonly facts: LogFields;
  /** The record is written; its decision is not. */
  readonly isWritten: boolean;
}

interface RequestsOfRun {
  /** By attempt: the next answer can come before the decision about this one is durable. */
  readonly waiting: Map<number, Waiting>;
  /** The attempt that the newest durable entries are about. */
  attempt: number;
}

export class RequestLog {
  readonly #log: Log;
  readonly #toolbox: () => Pick<Toolbox, "tools">;
  readonly #runs = new Map<RunId, RequestsOfRun>();

  constructor(log: Log, toolbox: () => Pick<Toolbox, "tools">) {
    this.#log = log;
    this.#toolbox = toolbox;
  }

  called(call: ModelCall): void {
    const { runId } = call.run;
    const facts = factsOf(call);
    if (call.outcome !== "answered" || call.purpose !== "answer") {
      this.#write(call, facts, []);
      return;
    }
    const requests = this.#runs.get(runId) ?? { waiting: new Map(), attempt: call.attempt };
    requests.waiting.set(call.attempt, { call, facts, isWritten: false });
    this.#runs.set(runId, requests);
  }

  entries({ runId }: StoredRun, entries: readonly Entry[]): void {
    for (const entry of entries) {
      const requests = this.#runs.get(runId);
      if (entry.kind === "INFER" && requests !== undefined) requests.attempt = entry.decided.attempt;
      else if (entry.kind === "VALIDATE_CALLS") this.#settle(requests, entry.decided.calls);
      else if (entry.kind === "COMMIT") this.#settle(requests, []);
      else if (entry.kind === "TERMINATE") {
        this.#settleAll(runId);
        const { outcome, reason } = entry.decided;
        this.#log.write("gateway", "info", "run.ended", { run_id: runId, outcome, reason });
      }
    }
  }

  /** A person is asked about a call of this run. */
  asked({ runId, tool }: { readonly runId: RunId; readonly tool: string }): void {
    const requests = this.#runs.get(runId);
    const [attempt, waiting] = [...(requests?.waiting ?? [])].at(-1) ?? [];
    if (attempt === undefined || waiting === undefined || waiting.isWritten) return;
    const asked = [{ ...this.#describe(tool), policy_id: null, decision: "ask" }];
    this.#write(waiting.call, waiting.facts, asked);
    requests?.waiting.set(attempt, { ...waiting, isWritten: true });
  }

  /** Nothing more will be decided here. */
  close(): void {
    for (const runId of [...this.#runs.keys()]) this.#settleAll(runId);
  }

  #settleAll(runId: RunId): void {
    const requests = this.#runs.get(runId);
    this.#runs.delete(runId);
    for (const attempt of [...(requests?.waiting.keys() ?? [])]) {
      this.#settle(requests && { ...requests, attempt }, []);
    }
  }

  #settle(requests: RequestsOfRun | undefined, decided: readonly DecidedCall[]): void {
    const waiting = requests?.waiting.get(requests.attempt);
    if (requests === undefined || waiting === undefined) return;
    requests.waiting.delete(requests.attempt);
    const { call, facts, isWritten } = waiting;
    const calls = decided.map(({ tool, policyId, decision }) => ({
      ...this.#describe(tool),
      ...{ policy_id: policyId, decision },
    }));
    if (!isWritten) this.#write(call, facts, calls);
    else if (calls.length > 0) {
      const { request_id = null, run_id = null } = facts;
      const { provider } = call.model;
      this.#log.write({ provider }, "info", "gate.decided", { request_id, run_id, gate: gateOf(call, calls) });
    }
  }

  #write(call: ModelCall, facts: LogFields, calls: readonly JsonValue[]): void {
    const { run, purpose, outcome, code } = call;
    const { provider, model } = call.model;
    const fields = { provider, model, agent_id: run.agentId, purpose, outcome, code, gate: gateOf(call, calls) };
    this.#log.write({ provider }, outcome === "failed" ? "warn" : "info", "model.request", fields, facts);
  }

  #describe(named: string): { readonly tool: string | null; readonly risk: string | null } {
    const tool = this.#toolbox().tools.find(({ name }) => name === named);
    return { tool: tool?.name ?? null, risk: tool?.risk ?? null };
  }
}

function gateOf({ channelClass }: ModelCall, calls: readonly JsonValue[]): JsonValue {
  const left = calls.length - MAX_CALLS;
  return { channel: channelClass, calls: calls.slice(0, MAX_CALLS), ...(left > 0 ? { calls_left_out: left } : {}) };
}

/** Ids, hashes and numbers. */
function factsOf(call: ModelCall): LogFields {
  const { run, requestId, manifest, estimated, usage, latencyMs } = call;
  const layer = (name: string) => {
    const found = manifest?.layers.find((each) => each.layer === name && "id" in each);
    return found !== undefined && "id" in found && "sha256" in found ? { id: found.id, sha256: found.sha256 } : null;
  };
  return {
    ...{ request_id: requestId, run_id: run.runId, session_id: run.sessionId },
    prompt: {
      manifest_hash: call.manifestHash,
      base_prompt: layer("base"),
      agent_prompt: layer("agent"),
      channel_policy: layer("channel"),
      user_message_sha256: call.messageHash(),
    },
    tokens: {
      ...{ estimated_input: estimated.inputTokens, max_output: estimated.outputTokens },
      ...{ input: usage?.inputTokens ?? null, output: usage?.outputTokens ?? null },
    },
    latency_ms: Math.round(latencyMs),
  };
}
