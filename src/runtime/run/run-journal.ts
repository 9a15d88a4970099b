/**
 * What of a step must be written, and how soon (design: Durability).
 *
 * W1. Lazy by default; a barrier before a tool or a child is started, before a question is asked, after a side effect
 *     reported, and before the end is told. The intent to read something here is written at once, while it is read.
 * W2. In the transaction of an answer: the capabilities it asks for.
 * W3. In the transaction of an intent: the approval it uses up, at the time the machine decided by; the child it starts, the reservation of the next inference.
 * W4. In the transaction of the end: the seal, with what lists show of it, the answer where the session's next run will
 *     look for it, the ledger's entry and the settled money.
 */
import type { Statement, StatementOf } from "../../kernel/journal/chain.ts";
import { digestOf } from "../../kernel/journal/views/run-snapshot.ts";
import { isHarmless } from "../../kernel/machine/call-promise.ts";
import { cutOffUsage } from "../../kernel/machine/infer.ts";
import { STATEMENT_TOKENS } from "../../kernel/machine/result.ts";
import { snapshotOf } from "../../kernel/machine/snapshot.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import type { Decision } from "../../kernel/machine/step.ts";
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { Urgency, Write } from "../ports/store.ts";
import type { Reservation } from "../spend/spend-account.ts";
import { AppendPendingEntries, type PendingEntries } from "./pending-entries.ts";
import type { RunContext } from "./run-context.ts";

export interface StepWrites {
  readonly writes: readonly Write[];
  readonly urgency: Urgency;
  /** The reservation among them. */
  readonly reserving: Reservation | null;
}

type JournalContext = Pick<RunContext, "run" | "bodyCache" | "account" | "authority" | "executor">;

export function writesFor(
  context: JournalContext,
  before: RunState,
  { state: after, transitions, commands }: Decision,
  pending: PendingEntries,
): StepWrites {
  const acts = commands.some(({ type }) => type === "run-tool" || type === "spawn-child");
  const isBarrier =
    acts || commands.some(({ type }) => type === "finish") || hasSideEffectReported(before, transitions);
  if (transitions.length === 0 && !isBarrier) return { writes: [], urgency: "lazy", reserving: null };
  const reserving = acts ? reserveNext(context, after) : null;
  const writes: Write[] = [
    new AppendPendingEntries(context.run, before.chain.seq, pending, context.bodyCache.takeUnwritten()),
  ];
  for (const stated of transitions) writes.push(...consequencesOf(context, before, after, stated, pending));
  if (reserving !== null) writes.push(reserving);
  const isRead = acts && writes.length === 1 && onlyReads(after);
  return {
    writes,
    urgency: isRead ? "eager" : isBarrier ? "barrier" : "lazy",
    reserving,
  };
}

/** Calls that may be lost and done again without anybody noticing: what they are for stays inside this machine. */
function onlyReads({ phase }: RunState): boolean {
  return phase.at === "OBSERVE" && phase.inFlight.every((call) => isHarmless(call) && call.egress.length === 0);
}

/** The result of anything but a harmless read is durable before the next thing happens. */
function hasSideEffectReported({ phase }: RunState, transitions: readonly Statement[]): boolean {
  if (phase.at !== "OBSERVE" || !transitions.some(({ kind }) => kind === "OBSERVE")) return false;
  return phase.inFlight.some((call) => !isHarmless(call));
}

function consequencesOf(
  context: JournalContext,
  before: RunState,
  after: RunState,
  stated: Statement,
  pending: PendingEntries,
): readonly Write[] {
  switch (stated.kind) {
    case "INFER":
      return settlementOf(context, before, stated).concat(context.authority.requestsIn(stated, context.run.runId));
    case "EXECUTE": {
      const { approvalId, planHash, child, callId } = stated.decided;
      const atMs = Date.parse(stated.ts);
      const consumed: readonly Write[] =
        approvalId === null ? [] : [{ type: "consume-approval", id: approvalId, planHash, atMs }];
      return child === null ? consumed : [...consumed, ...context.executor.writesOfChild(callId)];
    }
    case "TERMINATE":
      return sealingOf(context, after, stated, pending.head);
    default:
      return [];
  }
}

function settlementOf(
  { account }: JournalContext,
  before: RunState,
  { decided, result, elapsedMs }: StatementOf<"INFER">,
): readonly Write[] {
  if (result?.type === "model.answered" || result?.type === "model.failed") {
    const { inputTokens, outputTokens, costMicrousd } = result.usage;
    return account.settle(decided.attempt, { microusd: costMicrousd, tokens: inputTokens + outputTokens });
  }
  const { phase, accepted } = before;
  if (phase.at !== "INFER" || phase.compacting) return [];
  // It waited for its time, and was never sent.
  if (elapsedMs < phase.notBeforeMs) return account.settle(decided.attempt, { microusd: 0, tokens: 0 });
  // Cut off: nobody will say what it cost, so it cost all that it could.
  const usage = cutOffUsage(before, phase);
  // What the journal cannot price, because the run was accepted by an earlier version, is paid for all the same.
  const { microusd, tokens } = account.amountOf(usage);
  const isPriced = accepted?.price !== undefined;
  return account.settle(decided.attempt, { microusd: isPriced ? usage.costMicrousd : microusd, tokens });
}

function sealingOf(
  { run, account, bodyCache }: JournalContext,
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
    {
      type: "append-ledger",
      draft: { kind: "run.sealed", ts, actor: "system", data: { runId, outcome, seq, head } },
    },
  ];
}

/** Bytes of an ordinary result to a token of its message: prose, code, most of JSON. */
const BYTES_PER_TOKEN = 3;

/**
 * What the inference after this step is expected to use. Where a result turns out to need more, the rest is reserved
 * later; where this is too much for a limit, the exact need is.
 */
function reserveNext({ account }: JournalContext, state: RunState): Reservation | null {
  const { prompt, contract, phase } = state;
  const { inFlight, waiting } = phase.at === "OBSERVE" ? phase : { inFlight: [], waiting: [] };
  const calls = inFlight.reduce((sum, { sharedBy }) => sum + 1 + sharedBy.length, waiting.length);
  const most = Math.ceil(contract.toolOutputBudget.maxBytesPerCall / BYTES_PER_TOKEN);
  return account.reserve(state.attempt + 1, {
    inputTokens: prompt.tokens + calls * (STATEMENT_TOKENS + most),
    outputTokens: contract.maxOutputTokens,
  });
}
