/** Recorded runs, for readers that check them or put another policy to them. */
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { findContract, readWholeJournal } from "../../runtime/run/read-run.ts";
import { decideAgain, type OtherDecision } from "../../runtime/run/replay-run.ts";
import { type EntriesPage, readEntries } from "./read-entries.ts";
import { type PolicyTest, type ReplayedStoredRun, replayStoredRun, testPolicy } from "./replay-stored-run.ts";

/** A `tools.policy` object as a config holds it; what it leaves out has its default. */
export type ParsePolicy = (
  value: unknown,
) => Promise<{ readonly ok: true; readonly policy: ToolPolicy } | { readonly ok: false; readonly problem: string }>;

type Answer<Value> = ({ readonly ok: true } & Value) | Refusal;

export class RecordedRuns {
  readonly #store: Store;
  readonly #parsePolicy: ParsePolicy;

  constructor(store: Store, parsePolicy: ParsePolicy) {
    this.#store = store;
    this.#parsePolicy = parsePolicy;
  }

  /** `contract`: the stored document, of whichever version; null where it cannot be read. */
  async entries(
    runId: RunId,
    after: number,
    limit: number,
  ): Promise<Answer<{ readonly page: EntriesPage; readonly contract: unknown; readonly isEnded: boolean }>> {
    const run = await this.#store.findRun(runId);
    if (run === null) return NO_SUCH_RUN;
    const contract = parseJson(run.contract);
    return {
      ok: true,
      page: await readEntries(this.#store, run, after, limit),
      contract: contract.ok ? contract.value : null,
      isEnded: run.outcome !== null,
    };
  }

  async replay(runId: RunId): Promise<Answer<{ readonly replayed: ReplayedStoredRun }>> {
    const run = await this.#store.findRun(runId);
    if (run === null) return NO_SUCH_RUN;
    const replayed = await replayStoredRun(this.#store, run, null);
    return replayed === null ? contractUnreadable(run) : { ok: true, replayed };
  }

  async whatIf(runId: RunId, policy: unknown): Promise<Answer<{ readonly calls: readonly OtherDecision[] }>> {
    const parsed = await this.#parsePolicy(policy);
    if (!parsed.ok) return refuse("invalid.request", parsed.problem);
    const run = await this.#store.findRun(runId);
    if (run === null) return NO_SUCH_RUN;
    const contract = findContract(run);
    if (contract === null) return contractUnreadable(run);
    const { entries } = await readWholeJournal(this.#store, runId);
    return { ok: true, calls: decideAgain(contract, entries, parsed.policy) };
  }

  async testPolicy(
    policy: unknown,
    runs: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer<{ readonly test: PolicyTest }>> {
    const parsed = await this.#parsePolicy(policy);
    if (!parsed.ok) return refuse("invalid.request", parsed.problem);
    return { ok: true, test: await testPolicy(this.#store, parsed.policy, { runs, signal }) };
  }
}

const NO_SUCH_RUN = refuse("not_found", "no such run");

function contractUnreadable({ runId }: StoredRun): Refusal {
  return refuse(
    "conflict",
    `The contract of this run is not the one it was accepted under: see surety verify ${runId}.`,
  );
}
