/**
 * Runs the corpus against one model, case after case, as ordinary runs of an assistant.
 *
 * R1. A case is judged by what is durable: the run's journal and its record.
 * R2. A case fails alone. The corpus stops only when a run cannot be submitted (no such model, no key), when a budget is
 *     used up, or when the provider fails: none of these says anything about the model.
 * R3. Once the signal has aborted, no further case begins and the current run is cancelled.
 */
import { DEFAULT_TERMS } from "../../kernel/contract/default-terms.ts";
import { eventsOf } from "../../kernel/journal/entry.ts";
import { explainFailure } from "../../kernel/journal/views/failure-explanation.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Refusal } from "../../runtime/operations/operation.ts";
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import type { Store } from "../../runtime/ports/store.ts";
import { contractOf, readWholeJournal } from "../../runtime/run/read-run.ts";
import type { Assistant } from "../runs/open-assistant.ts";
import type { ConformanceCase } from "./corpus.ts";
import { answersIn, brokenInvariant, type Transcript } from "./transcript-checks.ts";

/** The agent that the runs belong to. */
export const CORPUS_AGENT = "main";

export interface CaseResult {
  readonly id: string;
  readonly name: string;
  readonly expected: string;
  readonly outcome: string;
  readonly passed: boolean;
  /** Why it did not pass; null when it did. */
  readonly problem: string | null;
}

export interface JudgedCase {
  readonly result: CaseResult;
  readonly transcript: Transcript;
}

export interface CorpusDependencies {
  readonly assistant: Assistant;
  readonly store: Store;
  /** `provider:model`; null: the default. */
  readonly model: string | null;
  /** The variable that holds its provider's key, if known. */
  readonly keyName: string | null;
  /** Called before each case. */
  readonly onCase: (next: ConformanceCase) => void;
  readonly signal: AbortSignal;
}

/** Why the corpus stopped. */
export type CorpusStop =
  | Refusal
  | {
      readonly ok: false;
      readonly code: "budget.exhausted" | "backend.unresponsive" | "provider.unavailable";
      readonly message: string;
    };

export async function* runCorpus(
  context: CorpusDependencies,
  corpus: readonly ConformanceCase[],
): AsyncGenerator<JudgedCase, CorpusStop | null> {
  let slowestMs = 0;
  for (const next of corpus) {
    if (context.signal.aborted) return null;
    context.onCase(next);
    const ran = await runCase(context, next, slowestMs);
    if (!ran.ok) return ran;
    const stop = stopIn(ran.transcript, next.id, context.keyName);
    if (stop !== null) return stop;
    slowestMs = Math.max(slowestMs, ...answersIn(ran.transcript.entries).map(({ stream }) => stream.lastMs));
    yield judge(next, ran.transcript);
  }
  return null;
}

/** A limit of the day or of the run stopped the case, or the provider did not answer after all retries. */
function stopIn(transcript: Transcript, id: string, keyName: string | null): CorpusStop | null {
  const { contract, entries, record } = transcript;
  const { reason } = record;
  const exhausted = (message: string): CorpusStop => ({ ok: false, code: "budget.exhausted", message });
  const failures = entries.flatMap(eventsOf).filter((event) => event.type === "model.failed");
  const isUnpaid = failures.some(({ code }) => /^budget\./.test(code)) || reason === "budget.spend";
  if (isUnpaid) return exhausted(`no budget left for ${id}. ${explainFailure(entries, contract)}`);
  // No case sets this limit, so one that is not the default is the operator's.
  const isLimited = contract.maxTokensConsumed !== DEFAULT_TERMS.maxTokensConsumed;
  const isOutOfTokens = isLimited && (reason === "budget.tokens" || reason === "contract.invalid");
  if (isOutOfTokens) return exhausted(`${id} needs more tokens than one run may use (perRunTokens)`);
  if (reason !== "backend.unresponsive" && reason !== "provider.unavailable") return null;
  return { ok: false, code: reason, message: `${id} got no answer: ${explainFailure(entries, contract, keyName)}` };
}

async function runCase(
  context: CorpusDependencies,
  { message, contract }: ConformanceCase,
  slowestMs: number,
): Promise<{ readonly ok: true; readonly transcript: Transcript } | Refusal> {
  const { assistant, model } = context;
  const submitted = await assistant.submit({
    ...{ agentId: CORPUS_AGENT, message, sessionId: null, model, thinkingMode: null, contract: contract(slowestMs) },
    ...{ approvedTools: [], source: "conformance", principal: "operator", idempotencyKey: null },
  });
  if (!submitted.ok) return submitted;
  await untilEnded(context, submitted.runId);
  return { ok: true, transcript: await readTranscript(context, submitted.runId) };
}

async function untilEnded({ assistant, signal }: CorpusDependencies, runId: RunId): Promise<void> {
  const cancelled: Promise<unknown>[] = [];
  const cancel = (): void => {
    cancelled.push(assistant.cancel(runId, "operator"));
  };
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel);
  try {
    const updates = (await assistant.watch(runId, 0, new AbortController().signal)) ?? [];
    for await (const _ of updates);
    await Promise.all(cancelled);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

async function readTranscript({ assistant, store }: CorpusDependencies, runId: RunId): Promise<Transcript> {
  const [run, record, { entries }] = await Promise.all([
    store.findRun(runId),
    assistant.run(runId),
    readWholeJournal(store, runId),
  ]);
  if (run === null || record === null) throw new Defect(`the run of a conformance case is gone: ${runId}`);
  return { contract: contractOf(run), entries, record };
}

function judge(judged: ConformanceCase, transcript: Transcript): JudgedCase {
  const { id, name } = judged;
  const accepted = transcript.entries.flatMap(eventsOf).find((event) => event.type === "run.accepted");
  const expected = judged.expected(accepted?.profile ?? { holdsRequired: false });
  const outcome = transcript.record.outcome ?? "none";
  const reason = transcript.record.reason ?? "no reason";
  const problem =
    brokenInvariant(transcript) ??
    (outcome === expected ? judged.problemIn(transcript) : `${outcome} (${reason}) instead of ${expected}`);
  return { result: { id, name, expected, outcome, passed: problem === null, problem }, transcript };
}

/** The model with its requests changed as the current case asks (`loosen`). */
export function loosenModel(model: ConfiguredModel, current: () => ConformanceCase | null): ConfiguredModel {
  const { backend } = model;
  return {
    ...model,
    backend: {
      ...backend,
      complete: (request, watch) => backend.complete(current()?.loosen?.(request) ?? request, watch),
    },
  };
}
