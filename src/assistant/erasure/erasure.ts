/**
 * Erasure: takes the content of a run or a session out of the home for good. Every chain still verifies: entries hold
 * refs, and the ledger says which texts were erased.
 *
 * F1. The database comes first, in one transaction: from then on nothing shows the content. Files, caches and the database's log
 *     follow, and what was interrupted is finished when the home is opened again.
 * F2. One erasure at a time.
 * F3. Nothing at work is forgotten: a run that has not ended refuses, and so does any other of its session.
 */
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import { type Store, StoreError, type Write } from "../../runtime/ports/store.ts";
import type { PendingErasure } from "../../runtime/ports/stored-erasure.ts";
import { type Chosen, planErasure, type SessionPlan } from "./plan-erasure.ts";

export interface ErasureParts {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs" | "wake">;
  /** What is in memory of a session's turns. */
  readonly forgetTurns: () => void;
  /** What a person typed, and files that came with it, of messages that are about to go. */
  readonly forgetMessages: (messages: readonly string[], placed: readonly string[]) => Promise<void>;
  /** Files that are made of the store, and what was cached. */
  readonly eraseFiles: (erased: readonly PendingErasure[]) => Promise<void>;
  readonly onDefect: (error: unknown) => void;
}

export interface Forgotten {
  readonly ok: true;
  /** Their content is gone; empty: it was gone before. */
  readonly runs: readonly RunId[];
  readonly texts: number;
  /** False: the log of the database or a file was in use; the rest follows when the home is opened again. */
  readonly isComplete: boolean;
}

const NO_SUCH_RUN = refuse("not_found", "no such run");
const NO_SUCH_SESSION = refuse("not_found", "no such session");
const BUSY_TRIES = 50;
const BUSY_PAUSE_MS = 100;

export class Erasure {
  readonly #parts: ErasureParts;
  #working: Promise<unknown> = Promise.resolve();

  constructor(parts: ErasureParts) {
    this.#parts = parts;
  }

  forgetRun(runId: RunId, principal: string): Promise<Forgotten | Refusal> {
    return this.#alone(async () => {
      const run = await this.#parts.store.findRun(runId);
      if (run === null) return NO_SUCH_RUN;
      if (run.outcome === null) return hasNotEnded(runId);
      if (run.erasedAt !== undefined) return await this.#again();
      return await this.#forget(run.sessionId, new Set([runId]), principal);
    });
  }

  forgetSession(sessionId: SessionId, principal: string): Promise<Forgotten | Refusal> {
    return this.#alone(async () => {
      const session = await this.#parts.store.findSession(sessionId);
      if (session === null) return NO_SUCH_SESSION;
      return session.erasedAt === undefined ? await this.#forget(sessionId, "all", principal) : await this.#again();
    });
  }

  /** What an earlier process left undone. */
  resume(): Promise<void> {
    return this.#alone(async () => {
      await this.#finish().catch(this.#parts.onDefect);
    });
  }

  /** Resolves when nothing is being erased. */
  async settle(): Promise<void> {
    await this.#working;
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const working = this.#working.then(work);
    this.#working = working.catch(() => {});
    return working;
  }

  async #forget(sessionId: SessionId, chosen: Chosen, actor: string): Promise<Forgotten | Refusal> {
    const { store, clock, forgetTurns, forgetMessages } = this.#parts;
    const plans = await this.#plansFor(sessionId, chosen);
    if ("code" in plans) return plans;
    const at = timestampOf(clock.nowMs());
    // First, because afterwards it is not known what they were.
    await forgetMessages(
      plans.flatMap(({ messages }) => messages),
      plans.flatMap(({ placed }) => placed),
    );
    try {
      await store.commit(
        plans.flatMap((plan) => writesOf(plan, at, actor)),
        "barrier",
      );
    } catch (error) {
      if (error instanceof StoreError && error.code === "store.conflict") return refuse("conflict", error.message);
      throw error;
    }
    forgetTurns();
    const isComplete = await this.#isFinished();
    const runs = plans.flatMap((plan) => plan.runs);
    const texts = runs.reduce((sum, { refs }) => sum + refs.length, 0);
    return { ok: true, runs: runs.map(({ runId }) => runId), texts, isComplete };
  }

  /** Of the session, and of those that children are in. */
  async #plansFor(sessionId: SessionId, chosen: Chosen): Promise<readonly SessionPlan[] | Refusal> {
    const { store } = this.#parts;
    const wanted = new Map<SessionId, Chosen>([[sessionId, chosen]]);
    const plans = new Map<SessionId, SessionPlan>();
    for (let isMore = true; isMore; ) {
      isMore = false;
      for (const [id, runs] of [...wanted]) {
        const [open] = await store.openRunsOf(id, 1);
        if (open !== undefined) return hasNotEnded(open.runId);
        const plan = await planErasure(store, id, runs);
        plans.set(id, plan);
        for (const childId of plan.children) {
          const child = await store.findRun(childId);
          if (child === null) continue;
          const ofSession = wanted.get(child.sessionId) ?? new Set<RunId>();
          if (ofSession === "all" || ofSession.has(childId)) continue;
          wanted.set(child.sessionId, new Set([...ofSession, childId]));
          isMore = true;
        }
      }
    }
    return [...plans.values()];
  }

  async #again(): Promise<Forgotten> {
    return { ok: true, runs: [], texts: 0, isComplete: await this.#isFinished() };
  }

  #isFinished(): Promise<boolean> {
    return this.#finish().then(
      () => true,
      (error: unknown) => {
        this.#parts.onDefect(error);
        return false;
      },
    );
  }

  async #finish(): Promise<void> {
    const { store, eraseFiles } = this.#parts;
    const pending = await store.pendingErasures();
    if (pending.length === 0) return;
    await eraseFiles(pending);
    await this.#purge();
    await store.commit([{ type: "finish-erasure", done: pending }], "barrier");
  }

  /** Another process may be reading the log at this moment. */
  async #purge(): Promise<void> {
    const { store, clock } = this.#parts;
    for (let tries = 1; ; tries += 1) {
      try {
        return await store.purge();
      } catch (error) {
        if (!(error instanceof StoreError && error.code === "store.busy") || tries === BUSY_TRIES) throw error;
      }
      await new Promise<void>((resolve) => clock.wake(BUSY_PAUSE_MS, resolve));
    }
  }
}

function writesOf(plan: SessionPlan, at: string, actor: string): readonly Write[] {
  const { sessionId, isWhole, runs, copies, checkpoint } = plan;
  return [
    { type: "erase-content", sessionId, isWhole, runs, copies, at, actor },
    ...(checkpoint === null
      ? []
      : [{ type: "write-checkpoint", sessionId, checkpoint: { ...checkpoint, updatedAt: at } } as const]),
  ];
}

function hasNotEnded(runId: RunId): Refusal {
  return refuse("conflict", `${runId} has not ended, so nothing was forgotten: wait, or cancel it first`);
}
