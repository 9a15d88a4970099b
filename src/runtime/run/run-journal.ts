/**
 * RunJournal owns what a run makes durable, and when: which writes share a transaction, how urgently they are flushed, how
 * far the run may be ahead of the disk, and when watchers see its entries. RunDriver decides what happens next and waits
 * here before it acts; CommandExecutor commits only reservations and questions, which are no part of a step.
 *
 * W1. A step is lazy by default. It is a barrier before a tool or a child starts, after a side effect reported, and at the
 *     end of the run. An intent that only reads on this machine is eager: flushed immediately, not awaited.
 * W2. The transaction of a model's answer holds the capabilities it requests and what it notes; that of the first entry, or of
 *     a result, which memories it brought in.
 * W3. The transaction of an intent holds the approval it consumes, the child it starts and the reservation of the next
 *     inference.
 * W4. The transaction of the end holds the seal, the answer, its delivery, the ledger entry and the settled spending; of a
 *     compaction also the session's new summary; where memories were given, which of them the answer cites.
 * W5. A run that only reads is at most MAX_STEPS_AHEAD steps ahead of what is durable.
 * W6. Entries are published after they are durable, in order.
 */
import type { Statement, StatementOf } from "../../kernel/journal/chain.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { memoriesCited, memoriesIn } from "../../kernel/journal/views/memory-citations.ts";
import { digestOf } from "../../kernel/journal/views/run-snapshot.ts";
import { isHarmless } from "../../kernel/machine/call-promise.ts";
import { cutOffUsage } from "../../kernel/machine/infer.ts";
import { STATEMENT_TOKENS } from "../../kernel/machine/result.ts";
import { snapshotOf } from "../../kernel/machine/snapshot.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import type { Decision } from "../../kernel/machine/step.ts";
import { asMemoryId, type CallId, type Hash, type MemoryId } from "../../kernel/vocabulary/identifiers.ts";
import type { Authority } from "../capabilities/authority.ts";
import type { SessionCheckpoint } from "../checkpoint/session-checkpoint.ts";
import type { Store, StoredRun, Urgency, Write } from "../ports/store.ts";
import type { SpendAmount } from "../ports/stored-spend.ts";
import type { RunPorts } from "../run-ports.ts";
import type { Reservation, SpendAccount } from "../spend/spend-account.ts";
import type { Acceptance } from "./acceptance.ts";
import type { BodyCache } from "./body-cache.ts";
import { AppendPendingEntries, type JournalEnd, PendingEntries } from "./pending-entries.ts";
import { replyWrites } from "./reply-delivery.ts";
import type { RunBroadcaster } from "./run-broadcaster.ts";

/** Enough for a model that answers immediately, while one sync takes place. */
const MAX_STEPS_AHEAD = 4;

export interface JournalDependencies {
  readonly store: Pick<Store, "commit">;
  readonly run: StoredRun;
  readonly acceptance: Pick<Acceptance, "reply" | "event">;
  readonly presentEnding: RunPorts["presentEnding"];
  readonly bodyCache: BodyCache;
  readonly account: SpendAccount;
  readonly authority: Authority;
  readonly checkpoint: SessionCheckpoint;
  readonly broadcaster: RunBroadcaster;
  /** What the end of a compaction writes; null for any other run. */
  readonly condensed: ((stated: StatementOf<"TERMINATE">) => readonly Write[]) | null;
  readonly onEntries: (run: StoredRun, entries: readonly Entry[]) => void;
  /** The writes that insert the child of a call. */
  readonly childWrites: (callId: CallId) => readonly Write[];
  /** The store refused a write: nothing more may be performed. */
  readonly onRefused: (error: unknown) => void;
}

interface StepWrites {
  readonly writes: readonly Write[];
  readonly urgency: Urgency;
  /** The reservation among the writes. */
  readonly reserving: Reservation | null;
}

export class RunJournal {
  readonly #parts: JournalDependencies;
  #end: JournalEnd;
  /** Eager commits that are not durable yet, oldest first. */
  readonly #ahead: Promise<boolean>[] = [];

  constructor(parts: JournalDependencies, { chain }: RunState) {
    this.#parts = parts;
    this.#end = { head: chain.linked.hash };
  }

  markRunning(): void {
    const { store, run, onRefused } = this.#parts;
    if (run.status === "running") return;
    store.commit([{ type: "set-status", runId: run.runId, status: "running" }], "lazy").catch(onRefused);
  }

  /** True once the run may perform the step's commands; false when the store refused. */
  record(before: RunState, decision: Decision): boolean | Promise<boolean> {
    const { store, run, account, bodyCache, broadcaster, onEntries, onRefused } = this.#parts;
    const hasEntries = decision.transitions.length > 0;
    const pending = new PendingEntries(this.#end, decision.transitions);
    const { writes, urgency, reserving } = this.#writesOf(before, decision, pending);
    if (writes.length === 0) return true;
    this.#end = pending;
    const committed = store
      .commit(writes, urgency)
      .then((result) => {
        if (reserving !== null && result.spend?.granted) account.grant(reserving);
        if (hasEntries) {
          broadcaster.entries(run.runId, pending.entries, (ref) => bodyCache.read(ref));
          onEntries(run, pending.entries);
        }
        return true;
      })
      .catch((error: unknown) => {
        onRefused(error);
        return false;
      });
    if (urgency === "lazy") return true;
    return urgency === "eager" ? this.#mayGoAhead(committed) : committed;
  }

  /** Commits become durable in order, so waiting for the oldest limits the lead. */
  #mayGoAhead(committed: Promise<boolean>): boolean | Promise<boolean> {
    const ahead = this.#ahead;
    ahead.push(committed);
    committed.then(() => ahead.splice(ahead.indexOf(committed), 1));
    return ahead.length > MAX_STEPS_AHEAD ? (ahead[0] ?? committed) : true;
  }

  #writesOf(before: RunState, { state: after, transitions, commands }: Decision, pending: PendingEntries): StepWrites {
    const { run, bodyCache, account } = this.#parts;
    const acts = commands.some(({ type }) => type === "run-tool" || type === "spawn-child");
    const isBarrier =
      acts || commands.some(({ type }) => type === "finish") || hasSideEffectReported(before, transitions);
    if (transitions.length === 0 && !isBarrier) return { writes: [], urgency: "lazy", reserving: null };
    const reserving = acts ? reserveNext(account, after) : null;
    const writes: Write[] = [new AppendPendingEntries(run, before.chain.seq, pending, bodyCache.takeUnwritten())];
    for (const stated of transitions) writes.push(...this.#consequencesOf(before, after, stated, pending));
    if (reserving !== null) writes.push(reserving);
    const isRead = acts && writes.length === 1 && onlyReads(after);
    return { writes, urgency: isRead ? "eager" : isBarrier ? "barrier" : "lazy", reserving };
  }

  #consequencesOf(before: RunState, after: RunState, stated: Statement, pending: PendingEntries): readonly Write[] {
    const { run, account, authority, checkpoint, bodyCache, childWrites } = this.#parts;
    switch (stated.kind) {
      case "run.created":
        return this.#remembering(
          this.#parts.acceptance.event.retrieved.map(({ id }) => asMemoryId(id)),
          stated.ts,
        );
      case "INFER":
        return [
          ...settlementOf(account, before, stated),
          ...authority.requestsIn(stated, run.runId),
          ...checkpoint.writesFor(stated, (ref) => bodyCache.readJson(ref)),
        ];
      case "EXECUTE": {
        const { approvalId, planHash, child, callId } = stated.decided;
        const atMs = Date.parse(stated.ts);
        const consumed: readonly Write[] =
          approvalId === null ? [] : [{ type: "consume-approval", id: approvalId, planHash, atMs }];
        return child === null ? consumed : [...consumed, ...childWrites(callId)];
      }
      case "OBSERVE":
        return [
          ...account.settleSummary(stated.decided.callId, summaryCost(stated)),
          ...this.#remembering(
            memoriesIn(stated, (ref) => bodyCache.read(ref)),
            stated.ts,
          ),
        ];
      case "TERMINATE":
        return [
          ...sealingOf(this.#parts, after, stated, pending.head),
          ...citing(this.#parts, stated),
          ...(this.#parts.condensed?.(stated) ?? []),
        ];
      default:
        return [];
    }
  }

  /** What the run has been given of memory. */
  #remembering(retrieved: readonly MemoryId[], ts: string): readonly Write[] {
    const { run, checkpoint } = this.#parts;
    if (retrieved.length === 0) return [];
    return [...checkpoint.refer(retrieved, ts), { type: "use-memories", runId: run.runId, retrieved, cited: [] }];
  }
}

function citing({ run, bodyCache }: JournalDependencies, { result }: StatementOf<"TERMINATE">): readonly Write[] {
  const answer = result?.type === "run.answered" ? bodyCache.read(result.ref) : null;
  const cited = memoriesCited(answer ?? "");
  return cited.length === 0 ? [] : [{ type: "use-memories", runId: run.runId, retrieved: [], cited }];
}

/** Calls that can be lost and repeated without a trace outside this machine. */
function onlyReads({ phase }: RunState): boolean {
  return phase.at === "OBSERVE" && phase.inFlight.every((call) => isHarmless(call) && call.egress.length === 0);
}

/** Anything but a harmless read has reported: its result is durable before anything follows. */
function hasSideEffectReported({ phase }: RunState, transitions: readonly Statement[]): boolean {
  if (phase.at !== "OBSERVE" || !transitions.some(({ kind }) => kind === "OBSERVE")) return false;
  return phase.inFlight.some((call) => !isHarmless(call));
}

function settlementOf(
  account: SpendAccount,
  before: RunState,
  { decided, result, elapsedMs }: StatementOf<"INFER">,
): readonly Write[] {
  if (result?.type === "model.answered" || result?.type === "model.failed") {
    const { inputTokens, outputTokens, costMicrousd } = result.usage;
    return account.settle(decided.attempt, { microusd: costMicrousd, tokens: inputTokens + outputTokens });
  }
  const { phase, accepted } = before;
  if (phase.at !== "INFER" || phase.compacting) return [];
  // The retry delay was not over, so the request was never sent.
  if (elapsedMs < phase.notBeforeMs) return account.settle(decided.attempt, { microusd: 0, tokens: 0 });
  // Cut off without a usage report: charge the most it can have cost.
  const usage = cutOffUsage(before, phase);
  // A run accepted by an earlier version has no price in its journal; the account's own price applies.
  const { microusd, tokens } = account.amountOf(usage);
  const isPriced = accepted?.price !== undefined;
  return account.settle(decided.attempt, { microusd: isPriced ? usage.costMicrousd : microusd, tokens });
}

/** Null: the call ended before its summary came. */
function summaryCost({ result }: StatementOf<"OBSERVE">): SpendAmount | null {
  if (result?.type !== "tool.finished" || result.summary === undefined) return null;
  const { costMicrousd, inputTokens, outputTokens } = result.summary.usage;
  return { microusd: costMicrousd, tokens: inputTokens + outputTokens };
}

function sealingOf(
  { run, acceptance, account, bodyCache, presentEnding }: JournalDependencies,
  after: RunState,
  { decided, result, seq, ts, elapsedMs }: StatementOf<"TERMINATE">,
  head: Hash,
): readonly Write[] {
  const { runId, sessionId } = run;
  const { outcome, reason } = decided;
  const answerRef = result?.type === "run.answered" ? result.ref : null;
  const answer = answerRef === null ? null : bodyCache.find(answerRef);
  const snapshot = snapshotOf(after, head);
  const ended = {
    toolCalls: snapshot.budget.performed,
    durationMs: elapsedMs,
    headHash: head,
    stateDigest: digestOf(snapshot),
    labels: after.labels,
  };
  return [
    ...account.close(),
    ...(answer === null ? [] : [{ type: "put-bodies", sessionId, bodies: [answer] } as const]),
    { type: "seal-run", runId, outcome, reason, answerRef, endedAt: ts, ended },
    ...replyWrites(acceptance, { runId, outcome, reason, answer: answer?.text ?? null }, ts, presentEnding),
    {
      type: "append-ledger",
      draft: { kind: "run.sealed", ts, actor: "system", data: { runId, outcome, seq, head } },
    },
  ];
}

/** Of prose, code and most JSON. */
const BYTES_PER_TOKEN = 3;

/** An estimate of what the next inference uses. CommandExecutor reserves the difference, or the exact need, before the call. */
function reserveNext(account: SpendAccount, state: RunState): Reservation | null {
  const { prompt, contract, phase } = state;
  const { inFlight, waiting } = phase.at === "OBSERVE" ? phase : { inFlight: [], waiting: [] };
  const calls = inFlight.reduce((sum, { sharedBy }) => sum + 1 + sharedBy.length, waiting.length);
  const most = Math.ceil(contract.toolOutputBudget.maxBytesPerCall / BYTES_PER_TOKEN);
  return account.reserve(state.attempt + 1, {
    inputTokens: prompt.tokens + calls * (STATEMENT_TOKENS + most),
    outputTokens: contract.maxOutputTokens,
  });
}
