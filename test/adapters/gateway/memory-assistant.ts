/** An assistant that keeps its promises in memory: runs go on only when a test says so. */
import { randomBytes } from "node:crypto";

import type { ConfigurationServices } from "../../../src/assistant/configuration/operations.ts";
import { NOT_BELIEVED } from "../../../src/assistant/delivery/delivery.ts";
import type { DeliveryServices } from "../../../src/assistant/delivery/operations.ts";
import type { ErasureServices } from "../../../src/assistant/erasure/operations.ts";
import { Feed } from "../../../src/assistant/events/feed.ts";
import { Media, type MediaParts } from "../../../src/assistant/media/media.ts";
import type { ModelServices } from "../../../src/assistant/models/operations.ts";
import type { Services } from "../../../src/assistant/operations.ts";
import type { PolicyServices } from "../../../src/assistant/policy/operations.ts";
import type { Assistant } from "../../../src/assistant/runs/open-assistant.ts";
import type { RunRequest } from "../../../src/assistant/runs/run-request.ts";
import type { RunUpdate } from "../../../src/assistant/runs/run-updates.ts";
import type { SessionServices } from "../../../src/assistant/sessions/operations.ts";
import type { StatusServices } from "../../../src/assistant/status/operations.ts";
import type { VerificationServices } from "../../../src/assistant/verification/operations.ts";
import type { LifecycleEvent } from "../../../src/kernel/journal/views/lifecycle-events.ts";
import type { RunRecord } from "../../../src/kernel/journal/views/run-record.ts";
import {
  asApprovalId,
  asBodyRef,
  asCallId,
  asHash,
  asMemoryId,
  asRunId,
  asSessionId,
  type RunId,
  type SessionId,
} from "../../../src/kernel/vocabulary/identifiers.ts";
import { Access } from "../../../src/runtime/access/access.ts";
import type { ApprovalVerdict } from "../../../src/runtime/approvals/approval-decisions.ts";
import type { CapabilityDecision } from "../../../src/runtime/capabilities/capabilities.ts";
import type { SessionCapabilities } from "../../../src/runtime/capabilities/stored-capabilities.ts";
import type { RefusalCode } from "../../../src/runtime/operations/operation.ts";
import type { ApprovalCard } from "../../../src/runtime/ports/approver.ts";
import type { Clock } from "../../../src/runtime/ports/clock.ts";
import type { Page, RunFilter, RunStatus } from "../../../src/runtime/ports/store.ts";
import type { SessionCapability } from "../../../src/runtime/ports/stored-capability.ts";
import type { RegisteredTool } from "../../../src/runtime/ports/toolbox.ts";
import { ManualClock } from "./manual-clock.ts";

type Happening = LifecycleEvent extends infer Event
  ? Event extends LifecycleEvent
    ? Pick<Event, "event_type" | "payload">
    : never
  : never;

interface Run {
  record: RunRecord;
  readonly events: LifecycleEvent[];
  readonly listeners: Set<(delta: RunUpdate | null) => void>;
}

export const PLAN_HASH = asHash("b".repeat(64));
const CONTRACT_HASH = "a".repeat(64);

export const TOOL: RegisteredTool = {
  name: "fs.read_text",
  description: "Reads a text file.",
  parameters: { type: "object", required: ["path"], properties: { path: { type: "string" } } },
  risk: "read_only",
};

export const TOKEN = "correct-horse-battery-staple";

export class MemoryAssistant implements Assistant {
  readonly access: Access;
  readonly requests: RunRequest[] = [];
  readonly decisions: ApprovalVerdict[] = [];
  readonly cancelledBy: string[] = [];
  readonly cards: ApprovalCard[] = [];
  readonly capabilityDecisions: CapabilityDecision[] = [];
  sessionCapabilities: SessionCapabilities = { granted: [], pending: [] };
  askedFor: readonly SessionCapability[] = [];
  readonly feedClock = new ManualClock();
  readonly feed = new Feed(this.feedClock, "feed_1", 3);
  marked: readonly string[] = [];
  readonly unmarkedBy: string[] = [];
  /** Watches begun and ended, so that a test can see a disconnect arrive. */
  watching = 0;
  maxQueued = 1000;
  /** Every question fails with it while set. */
  failure: Error | null = null;
  readonly #runs = new Map<RunId, Run>();
  readonly #keys = new Map<string, { readonly runId: RunId; readonly message: string }>();

  constructor(token = TOKEN, clock: Clock = new ManualClock()) {
    const store = { commit: async () => ({ spend: null }), listTokens: async () => [], listBrowsers: async () => [] };
    const replaceToken = async () => {};
    this.access = new Access({ store, clock, token, replaceToken, random: (count) => randomBytes(count) });
  }

  async submit(request: RunRequest): ReturnType<Assistant["submit"]> {
    await this.#mayFail();
    this.requests.push(request);
    const { agentId, message, sessionId, idempotencyKey } = request;
    const known = idempotencyKey === null ? undefined : this.#keys.get(idempotencyKey);
    if (known !== undefined) {
      if (known.message !== message) return refuse("conflict", "the key was used for another request");
      return this.#accepted(this.#run(known.runId), true);
    }
    if (agentId !== "main") return refuse("invalid.request", "no such agent");
    if (sessionId !== null && !this.#hasSession(sessionId)) return refuse("not_found", "no such session");
    const queued = [...this.#runs.values()].filter(({ record }) => record.status === "queued");
    if (queued.length >= this.maxQueued) return refuse("queue.full", "run queue is full");
    const run = this.#insert(request);
    if (idempotencyKey !== null) this.#keys.set(idempotencyKey, { runId: asRunId(run.record.id), message });
    return this.#accepted(run, false);
  }

  async run(runId: RunId): Promise<RunRecord | null> {
    await this.#mayFail();
    return this.#runs.get(runId)?.record ?? null;
  }

  async runs({ status, limit, offset }: RunFilter & Page) {
    await this.#mayFail();
    const listed = { created_at: "2026-11-16T00:00:00.000Z", prompt: null, state: "PRECHECK" } as const;
    const all = [...this.#runs.values()].map(({ record }) => ({ ...record, ...listed })).reverse();
    const matching = all.filter((record) => status === undefined || record.status === status);
    return { runs: matching.slice(offset, offset + limit), total: matching.length };
  }

  async watch(runId: RunId, afterSeq: number, signal: AbortSignal): Promise<AsyncIterable<RunUpdate> | null> {
    await this.#mayFail();
    const run = this.#runs.get(runId);
    return run === undefined ? null : this.#follow(run, afterSeq, signal);
  }

  async manifest() {
    await this.#mayFail();
    return refuse("not_found", "no such run");
  }

  async cancel(runId: RunId, principal: string) {
    await this.#mayFail();
    const run = this.#runs.get(runId);
    if (run === undefined) return refuse("not_found", "no such run");
    if (run.record.outcome !== null) return { ok: true as const, status: run.record.status };
    this.cancelledBy.push(principal);
    this.end(runId, "run.cancelled");
    return { ok: true as const, status: run.record.status };
  }

  async bundle(runId: RunId) {
    await this.#mayFail();
    const run = this.#runs.get(runId);
    if (run === undefined) return refuse("not_found", "no such run");
    if (run.record.outcome === null) return refuse("conflict", "the run has not ended");
    return { ok: true as const, text: `{"format":"surety-bundle","id":"${runId}","text":"ü"}` };
  }

  async approvals({ limit, offset }: Page): Promise<readonly ApprovalCard[]> {
    await this.#mayFail();
    return this.cards.slice(offset, offset + limit);
  }

  async decide(decision: ApprovalVerdict) {
    await this.#mayFail();
    const card = this.cards.find(({ id }) => id === decision.id);
    if (card === undefined) return refuse("not_found", "no such approval");
    if (card.planHash !== decision.planHash) return refuse("conflict", "this is not the plan that is waiting");
    this.decisions.push(decision);
    return { ok: true as const, runId: card.runId };
  }

  async capabilities(sessionId: SessionId) {
    await this.#mayFail();
    if (!this.#hasSession(sessionId)) return refuse("not_found", "no such session");
    return { ok: true as const, capabilities: this.sessionCapabilities };
  }

  async pendingCapabilities({ limit, offset }: Page) {
    await this.#mayFail();
    return this.askedFor.slice(offset, offset + limit);
  }

  async decideCapability(decision: CapabilityDecision) {
    await this.#mayFail();
    if (!this.#hasSession(decision.sessionId)) return refuse("not_found", "no such session");
    if (decision.capability.includes("*")) return refuse("invalid.request", "no capability");
    this.capabilityDecisions.push(decision);
    return { ok: true as const, capabilities: this.sessionCapabilities };
  }

  async marks(): Promise<readonly string[]> {
    await this.#mayFail();
    return this.marked;
  }

  /** None are kept here. */
  readonly memories = {
    list: async () => [],
    find: async () => [],
    show: async () => null,
    uses: async () => [],
    forget: async () => null,
    add: async () => ({ id: asMemoryId("mem_1"), isNew: true }),
    addAll: async () => [],
  } satisfies Services["memories"];

  /** What the operations are performed with. */
  get services(): Services {
    return {
      memories: this.memories,
      assistant: this,
      approvals: {
        pending: (page) => this.approvals(page),
        decided: async () => [],
        decide: (verdict) => this.decide(verdict),
      },
      capabilities: {
        of: (sessionId) => this.capabilities(sessionId),
        pending: (page) => this.pendingCapabilities(page),
        granted: () => Promise.resolve([]),
        decide: (decision) => this.decideCapability(decision),
      },
      // Conversations and channels are tested on a real home (test/assistant).
      ...({} as SessionServices),
      secrets: {} as Services["secrets"],
      // Needs a store (test/boot/erasure.test.ts).
      ...({} as ErasureServices),
      governance: {} as Services["governance"],
      // Jobs are tested on a real home (test/boot/schedule.test.ts).
      schedule: {} as Services["schedule"],
      // Uploads are tested on a real home (test/boot/media.test.ts).
      media: new Media({} as MediaParts),
      delivery: { receiveHook: () => Promise.resolve(NOT_BELIEVED) } as unknown as DeliveryServices["delivery"],
      marks: {
        list: () => this.marks(),
        remove: (path) => {
          this.marked = this.marked.filter((other) => other !== path);
          return Promise.resolve(true);
        },
      },
      store: {
        ...{ findRun: async () => null, readEntries: async () => [], readBodies: async () => new Map() },
        commit: (writes) => {
          for (const write of writes) if (write.type === "append-ledger") this.unmarkedBy.push(write.draft.actor);
          return Promise.resolve({ spend: null });
        },
        spendTotals: () => Promise.resolve([]),
        heldFor: () => Promise.resolve(null),
      },
      clock: { nowMs: () => 0 },
      feed: this.feed,
      // What is recorded is read on a real home (test/boot).
      recorded: {} as VerificationServices["recorded"],
      toolbox: { tools: [TOOL] },
      access: this.access,
      // So is what is administrated.
      ...({} as ConfigurationServices & ModelServices & PolicyServices & StatusServices),
      budgets: () => ({}),
      // So is the shadow loop (test/boot/shadow.test.ts).
      shadow: {} as Services["shadow"],
    };
  }

  record(runId: RunId, happening: Happening): void {
    const run = this.#run(runId);
    const seq = run.events.length + 1;
    const event = {
      event_id: `evt_${runId}_${seq}`,
      ts: "2026-11-16T00:00:00.000Z",
      run_id: runId,
      agent_id: run.record.agent_id,
      seq,
      ...happening,
    } as LifecycleEvent;
    run.events.push(event);
    for (const listener of run.listeners) listener(null);
  }

  say(runId: RunId, text: string, offset = 0): void {
    for (const listener of this.#run(runId).listeners) listener({ kind: "delta", attempt: 1, offset, text });
  }

  print(runId: RunId, text: string): void {
    const output = { kind: "output", step: 1, callId: "call_1", stream: "stderr", offset: 7, text } as const;
    for (const listener of this.#run(runId).listeners) listener(output);
  }

  wait(runId: RunId): void {
    for (const listener of this.#run(runId).listeners) listener({ kind: "wait", code: "provider.busy", waitMs: 1500 });
  }

  ask(runId: RunId, step = 1): void {
    this.record(runId, {
      event_type: "model.requested",
      payload: {
        step_id: `s${step}`,
        attempt: 1,
        mode: "normal",
        prompt_head: CONTRACT_HASH,
        max_output_tokens: 100,
        constraint_hash: CONTRACT_HASH,
      },
    });
  }

  end(runId: RunId, event_type: "run.completed" | "run.failed" | "run.cancelled" = "run.completed"): void {
    const run = this.#run(runId);
    const outcome = {
      "run.completed": "COMPLETED_CHAT_ONLY",
      "run.failed": "FAILED_TIMEOUT",
      "run.cancelled": "INTERRUPTED",
    }[event_type];
    run.record = { ...run.record, status: event_type.slice("run.".length) as RunStatus, outcome, output: "done: ü" };
    this.record(runId, { event_type, payload: { outcome, reason: null, answer_ref: null, head_hash: CONTRACT_HASH } });
  }

  addCard(runId: RunId, kind: ApprovalCard["kind"] = "approve"): ApprovalCard {
    const card: ApprovalCard = {
      id: asApprovalId(`apr_${this.cards.length + 1}`),
      runId,
      sessionId: asSessionId(this.#run(runId).record.session_id),
      callId: asCallId("call-1"),
      step: 2,
      kind,
      tool: "fs.write_text",
      planRef: asBodyRef("c".repeat(64)),
      planHash: PLAN_HASH,
      backgroundRef: null,
      why: "side_effect",
      labels: { integrity: "user", confidentiality: "private" },
      createdAtMs: 1_765_000_000_123,
      expiresAtMs: 1_765_000_600_123,
      state: "pending",
      decidedBy: null,
      decidedAtMs: null,
      shown: "write 5 bytes to a.txt",
      background: { explain: null, provenance: [], call: null },
    };
    this.cards.push(card);
    return card;
  }

  async *#follow(run: Run, afterSeq: number, signal: AbortSignal): AsyncGenerator<RunUpdate, void> {
    const live: RunUpdate[] = [];
    let wake = (): void => {};
    const listener = (delta: RunUpdate | null): void => {
      if (delta !== null) live.push(delta);
      wake();
    };
    const onAbort = (): void => wake();
    run.listeners.add(listener);
    signal.addEventListener("abort", onAbort);
    this.watching += 1;
    try {
      for (let seq = afterSeq; !signal.aborted; ) {
        const event = run.events[seq];
        if (event !== undefined) {
          seq += 1;
          yield { kind: "event", event };
        } else if (live.length > 0) {
          yield* live.splice(0);
        } else if (run.record.outcome !== null) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      this.watching -= 1;
      run.listeners.delete(listener);
      signal.removeEventListener("abort", onAbort);
    }
  }

  #insert({ agentId, sessionId, source, principal, thinkingMode }: RunRequest): Run {
    const runId = asRunId(`run_${this.#runs.size + 1}`);
    const record: RunRecord = {
      id: runId,
      agent_id: agentId,
      source,
      session_id: sessionId ?? `ses_${this.#runs.size + 1}`,
      status: "queued",
      outcome: null,
      reason: null,
      output: "",
      artifact_path: `agents/${agentId}/runs/${runId}`,
      duration_ms: 0,
      tool_calls: 0,
      provider: "builtin",
      model: "demo",
      thinking_mode: thinkingMode ?? "on_error",
      contract_hash: CONTRACT_HASH,
      head_hash: CONTRACT_HASH,
      state_digest: CONTRACT_HASH,
      trace: {
        tool_execution_results: [
          { tool: "fs.read_text", tool_call_id: "call-0", summary: "read 2 lines", output: "ü\n2", error: "" },
        ],
      },
    };
    const run: Run = { record, events: [], listeners: new Set() };
    this.#runs.set(runId, run);
    this.record(runId, {
      event_type: "run.created",
      payload: { session_id: record.session_id, principal, message_ref: null, contract_hash: CONTRACT_HASH },
    });
    return run;
  }

  #hasSession(sessionId: SessionId): boolean {
    return [...this.#runs.values()].some(({ record }) => record.session_id === sessionId);
  }

  #accepted({ record }: Run, isRepeat: boolean) {
    const { id, session_id, status } = record;
    return { ok: true as const, runId: asRunId(id), sessionId: asSessionId(session_id), status, isRepeat };
  }

  #run(runId: RunId): Run {
    const run = this.#runs.get(runId);
    if (run === undefined) throw new Error(`the test names a run that is not there: ${runId}`);
    return run;
  }

  async #mayFail(): Promise<void> {
    await null;
    if (this.failure !== null) throw this.failure;
  }
}

function refuse<Code extends RefusalCode>(code: Code, message: string) {
  return { ok: false as const, code, message };
}
