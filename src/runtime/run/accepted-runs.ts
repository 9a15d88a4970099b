/**
 * AcceptedRuns accepts runs and hands them to their drivers: from memory if this process accepted the run and it has not
 * started, otherwise from the store. The caller cannot tell the difference. So a new run is not read back, and everything
 * it needs is prepared while its acceptance is being written.
 *
 * The copy in memory is current because only a cancellation is ever written about a run that has not started, and
 * `forget` drops the copy then.
 */
import type { Body } from "../../kernel/journal/body.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { type RunState, startRun } from "../../kernel/machine/state.ts";
import type { BodyRef, RunId } from "../../kernel/vocabulary/identifiers.ts";
import { type Clock, timestampOf } from "../ports/clock.ts";
import type { NewRun, Store, StoredBody, StoredRun } from "../ports/store.ts";
import { acceptanceWrites, newRun, type RunDraft } from "./accept-run.ts";
import { type Acceptance, findAcceptance, openingRefs } from "./acceptance.ts";
import { readBodiesOf, restoreRun } from "./read-run.ts";

export type OpenedRun =
  | {
      readonly ok: true;
      readonly run: StoredRun;
      readonly acceptance: Acceptance;
      readonly entries: readonly Entry[];
      readonly state: RunState;
      /** Those of the opening prompt and of the entries. */
      readonly bodies: ReadonlyMap<BodyRef, Body>;
      /** Nothing may be performed before this is true; false when the store refused the run. */
      readonly isDurable: Promise<boolean>;
      /** The home was restored from a backup that holds this run: the restore's id. */
      readonly restoreId: string | null;
    }
  /** Its journal does not replay, or what it was accepted with is damaged. */
  | { readonly ok: false; readonly run: StoredRun; readonly entries: readonly Entry[] };

interface NewlyAccepted {
  readonly run: NewRun;
  readonly draft: RunDraft;
  readonly bodies: readonly StoredBody[];
  readonly isDurable: Promise<boolean>;
}

/** The queue may be long, so larger bodies (images, pasted files) are read back when the run starts. */
const MAX_CHARS_IN_MEMORY = 16_384;

export class AcceptedRuns {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #inMemory = new Map<RunId, NewlyAccepted>();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Resolves when the run is durable; rejects when the store refused it. */
  async accept(draft: RunDraft): Promise<void> {
    const { runId } = draft.run;
    const run = newRun(draft, timestampOf(this.#clock.nowMs()));
    const committed = this.#store.commit(acceptanceWrites(draft, run), "barrier");
    // One turn later, so that the submitter can watch the run before its first entry is published.
    const isDurable = committed.then(
      () => new Promise<boolean>((resolve) => this.#clock.afterThisTurn(() => resolve(true))),
      () => false,
    );
    const accepted: NewlyAccepted = { run, draft, bodies: draft.bodies, isDurable };
    this.#inMemory.set(runId, accepted);
    try {
      await committed;
    } catch (error) {
      this.forget(runId);
      throw error;
    }
    const chars = draft.bodies.reduce((sum, { text }) => sum + text.length, 0);
    if (this.has(runId) && chars > MAX_CHARS_IN_MEMORY) this.#inMemory.set(runId, { ...accepted, bodies: [] });
  }

  /** Accepted here and not opened yet. */
  has(runId: RunId): boolean {
    return this.#inMemory.has(runId);
  }

  forget(runId: RunId): void {
    this.#inMemory.delete(runId);
  }

  /** Null when there is no such run, or it has ended. */
  async open(runId: RunId): Promise<OpenedRun | null> {
    const accepted = this.#inMemory.get(runId);
    this.forget(runId);
    return accepted === undefined ? await this.#fromStore(runId) : await this.#fromMemory(accepted);
  }

  async #fromMemory({ run, draft, bodies, isDurable }: NewlyAccepted): Promise<OpenedRun> {
    const { acceptance, contract } = draft;
    const known = new Map<BodyRef, Body>(bodies.map((body) => [body.ref, body]));
    const missing = openingRefs(acceptance).filter((ref) => !known.has(ref));
    const stored = missing.length === 0 ? [] : await readBodiesOf(this.#store, run, [], missing);
    return {
      ok: true,
      run: { ...run, ...NOT_STARTED },
      acceptance,
      entries: [],
      state: startRun(run.runId, contract),
      bodies: new Map([...known, ...stored]),
      isDurable,
      restoreId: null,
    };
  }

  async #fromStore(runId: RunId): Promise<OpenedRun | null> {
    const run = await this.#store.findRun(runId);
    if (run === null || run.outcome !== null) return null;
    const restored = await restoreRun(this.#store, run);
    const { entries } = restored;
    if (!restored.ok) return { ok: false, run, entries };
    const acceptance = findAcceptance(run.accepted);
    if (acceptance === null) return { ok: false, run, entries };
    const bodies = await readBodiesOf(this.#store, run, entries, openingRefs(acceptance));
    const restore = this.#store.restored;
    return {
      ...{ ok: true, run, acceptance, entries, state: restored.state, bodies, isDurable: Promise.resolve(true) },
      restoreId: restore !== null && run.position <= restore.lastRun ? restore.id : null,
    };
  }
}

const NOT_STARTED = {
  status: "queued",
  epoch: 0,
  outcome: null,
  reason: null,
  answerRef: null,
  endedAt: null,
  ended: null,
  cancelledBy: null,
} as const satisfies Omit<StoredRun, keyof NewRun>;
