/** What a run may spend: every limit of its contract, counted here a second time from the events alone. */
import { type Budget, type Entry, type EntryOf, eventsOf, NOTHING_SPENT } from "../../../src/kernel/journal/entry.ts";
import type { CarvedBudget } from "../../../src/kernel/journal/event.ts";
import { TRANSPORT_RETRY_DELAYS_MS } from "../../../src/kernel/machine/commit.ts";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import type { CallId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { costOf, type ModelPrice } from "../../../src/kernel/vocabulary/model-price.ts";
import {
  dispatchedIn,
  firstProblem,
  heardIn,
  type Invariant,
  isCompleted,
  ofKind,
  performedResult,
} from "./invariant.ts";

export const countsEverything: Invariant = {
  name: "every COMMIT states what the events add up to",
  ids: ["M-P3"],
  check: ({ entries }) => {
    let sum: Budget = NOTHING_SPENT;
    let promptTokens = 0;
    let price: ModelPrice | null = null;
    let failures: readonly number[] = [];
    const carved = new Map<CallId, CarvedBudget>();
    return firstProblem(entries, (entry) => {
      if (entry.kind === "EXECUTE" && entry.decided.child !== null)
        carved.set(entry.decided.callId, entry.decided.child.budget);
      for (const event of eventsOf(entry)) {
        if (event.type === "run.accepted") {
          promptTokens = event.prompt.tokens;
          price = event.price ?? null;
        }
        if (event.type === "context.compacted" && event.succeeded) promptTokens = event.tokens;
      }
      const isWaiting = entry.elapsedMs < (failures.at(-1) ?? 0);
      sum = add(sum, spentIn(entry, entries[entry.seq], carved, isWaiting ? null : promptTokens, price));
      if (entry.kind === "INFER") failures = failuresAfter(failures, entry);
      if (entry.kind !== "COMMIT") return null;
      promptTokens = entry.decided.promptTokens;
      const stated = canonicalJson(entry.decided.budget);
      return stated === canonicalJson(sum) ? null : `entry ${entry.seq}: states ${stated}, is ${canonicalJson(sum)}`;
    });
  },
};

/** For each failure in a row, the time before which the next attempt is not sent. */
function failuresAfter(failures: readonly number[], { result, elapsedMs }: EntryOf<"INFER">): readonly number[] {
  if (result?.type === "model.answered") return [];
  if (result?.type !== "model.failed") return failures;
  const patienceMs = TRANSPORT_RETRY_DELAYS_MS[failures.length] ?? 0;
  return [...failures, elapsedMs + (result.retryAfterMs || patienceMs)];
}

function add(a: Budget, b: Partial<Budget>): Budget {
  const keys = Object.keys(a) as (keyof Budget)[];
  return Object.fromEntries(keys.map((key) => [key, a[key] + (b[key] ?? 0)])) as unknown as Budget;
}

function spentIn(
  entry: Entry,
  next: Entry | undefined,
  carved: ReadonlyMap<CallId, CarvedBudget>,
  /** Null for an inference that was not sent yet. */
  promptTokens: number | null,
  price: ModelPrice | null,
): Partial<Budget> {
  switch (entry.kind) {
    case "INFER": {
      const usages = eventsOf(entry).flatMap((event) => ("usage" in event ? [event.usage] : []));
      const { result } = entry;
      const isAnswered = result?.type === "model.answered";
      const wasAsked = entry.decided.maxOutputTokens > 0 && result?.type !== "model.failed";
      // An inference that was cut off counts with all it may have used.
      const isCutOff = wasAsked && !isAnswered && promptTokens !== null;
      const inputTokens = isCutOff ? promptTokens : 0;
      const outputTokens = isCutOff ? entry.decided.maxOutputTokens : 0;
      const cost = costOf(price, { inputTokens, outputTokens });
      return {
        inferences: wasAsked ? 1 : 0,
        tokens: usages.reduce((sum, usage) => sum + usage.inputTokens + usage.outputTokens, inputTokens + outputTokens),
        spendMicrousd: usages.reduce((sum, usage) => sum + usage.costMicrousd, cost),
        formatRetries: isAnswered && next?.kind === "COMMIT" ? 1 : 0,
      };
    }
    case "EXECUTE":
      return entry.decided.child?.budget ?? {};
    case "OBSERVE": {
      const { result } = entry;
      const performed = performedResult(entry);
      if (performed === null) return {};
      const counted = {
        performed: 1,
        succeeded: performed.ok ? 1 : 0,
        toolOutputBytes: result !== null && "response" in result ? result.response.outputBytes : 0,
      };
      const given = carved.get(entry.decided.callId);
      if (result?.type !== "child.finished" || given === undefined) return counted;
      const { spent } = result;
      return {
        ...counted,
        inferences: spent.inferences - given.inferences,
        tokens: spent.tokens - given.tokens,
        spendMicrousd: spent.spendMicrousd - given.spendMicrousd,
      };
    }
    default:
      return {};
  }
}

export const completesWithinLimits: Invariant = {
  name: "a completed run kept every limit of its contract",
  ids: ["M-P3", "X-6"],
  check: (run) => {
    const { contract } = run.world;
    const budget = ofKind(run.entries, "COMMIT").at(-1)?.decided.budget;
    if (!isCompleted(run) || budget === undefined) return null;
    const elapsedMs = run.entries.at(-1)?.elapsedMs ?? 0;
    const limits: readonly (readonly [string, number, number])[] = [
      ["inferences", budget.inferences, contract.maxInferences],
      ["tokens", budget.tokens, contract.maxTokensConsumed],
      ["spend", budget.spendMicrousd, contract.maxSpendMicrousd ?? Number.POSITIVE_INFINITY],
      ["format retries", budget.formatRetries, contract.maxFormatRetries],
      ["time", elapsedMs, contract.totalTimeoutMs],
    ];
    return firstProblem(limits, ([what, used, limit]) =>
      used > limit ? `completed with ${used} of ${limit} ${what}` : null,
    );
  },
};

export const boundsInferences: Invariant = {
  name: "no run makes more inferences than its contract allows, nor more repairs",
  ids: [],
  check: ({ entries, world: { contract } }) => {
    const answers = ofKind(entries, "INFER").filter(({ result }) => result?.type === "model.answered");
    if (answers.length > contract.maxInferences)
      return `${answers.length} answers of ${contract.maxInferences} inferences`;
    const repairs = answers.filter(({ decided }) => decided.mode === "repair").length;
    if (repairs > contract.maxFormatRetries) return `${repairs} repairs of ${contract.maxFormatRetries}`;
    const over = ofKind(entries, "COMMIT").find(({ decided }) => decided.budget.inferences > contract.maxInferences);
    return over === undefined ? null : `entry ${over.seq}: ${over.decided.budget.inferences} inferences`;
  },
};

export const reservesBeforeAsking: Invariant = {
  name: "before the model is asked, prompt and answer fit what is left of tokens, spend and context",
  ids: ["X-6"],
  check: (run) => {
    const { contract } = run.world;
    return firstProblem(heardIn(run), ({ after, commands }) => {
      const asked = commands.find((command) => command.type === "call-model");
      if (asked === undefined) return null;
      const { budget, prompt } = after;
      const needed = prompt.tokens + asked.maxOutputTokens;
      if (budget.tokens + needed > contract.maxTokensConsumed) return `attempt ${asked.attempt}: tokens not reserved`;
      if (needed > contract.contextBudget.contextWindow) return `attempt ${asked.attempt}: larger than the window`;
      const { maxSpendMicrousd } = contract;
      const isSpent = maxSpendMicrousd !== null && budget.spendMicrousd >= maxSpendMicrousd;
      return isSpent ? `attempt ${asked.attempt}: nothing left to spend` : null;
    });
  },
};

export const wrapsUpWhenFull: Invariant = {
  name: "a full context is asked to wrap up, and tools are offered only where they may be called",
  ids: [],
  check: (run) => {
    const { contract } = run.world;
    const { contextWindow, forceSynthesisAtRatio } = contract.contextBudget;
    return firstProblem(heardIn(run), ({ before, event, after, commands }) => {
      const asked = commands.find((command) => command.type === "call-model");
      if (asked === undefined) return null;
      const isLast = asked.mode === "synthesis" || asked.mode === "critique";
      const mayOffer = !isLast && contract.toolPolicy !== "forbidden";
      if (!mayOffer && asked.tools.length > 0) return `attempt ${asked.attempt}: tools were offered`;
      // Preflight has found room for the first inference; one that failed in transport is only made again.
      const isFollowUp = before.phase.at !== "PRECHECK" && event.type !== "model.failed";
      const isFull = after.prompt.tokens >= contextWindow * forceSynthesisAtRatio;
      return isFollowUp && isFull && !isLast ? `attempt ${asked.attempt}: asked in ${asked.mode}` : null;
    });
  },
};

/** What costs or acts; planning looks only. */
const WORK: readonly string[] = ["call-model", "compact", "run-tool", "spawn-child"];

export const startsNothingLate: Invariant = {
  name: "no work is started at or after the run's deadline",
  ids: ["M-P3"],
  check: (run) => {
    const { totalTimeoutMs } = run.world.contract;
    return firstProblem(dispatchedIn(run), ({ command, elapsedMs, isRepeat }) => {
      if (command.type === "spawn-child" && isRepeat) return null;
      return WORK.includes(command.type) && elapsedMs >= totalTimeoutMs ? `${command.type} at ${elapsedMs} ms` : null;
    });
  },
};
