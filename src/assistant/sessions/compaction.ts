/**
 * Compaction decides when the earlier turns of a session are condensed, and which (P-5.3, X-8). Condensing is a run in the
 * session's lane; its answer becomes the summary in the transaction that ends it (runtime/checkpoint/condense.ts).
 *
 * C1. The newest turns are never condensed: as many as fill half of what a prompt may hold.
 * C2. A summary is ready before its turns leave the prompt. A prompt goes on to show as many turns as fit, so that its
 *     size does not swing; only a compaction that was asked for takes the condensed turns out of it.
 * C3. At most one compaction of a session at a time. After one that failed, the next begins by itself only when as many
 *     turns have ended as are kept. Nothing here uses a timer: a session in which nothing is said is left alone.
 * C4. Runs that have not ended stay in front of what is condensed.
 */
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS, joinLabels } from "../../kernel/vocabulary/labels.ts";
import { condensedPosition, readCheckpoint, summaryIn } from "../../runtime/checkpoint/session-checkpoint.ts";
import { ESTIMATED_TOKENS, estimateTokens } from "../../runtime/model/estimate-tokens.ts";
import { type RefusalCode, refuse } from "../../runtime/operations/operation.ts";
import { type PlacedRun, type RunStatus, type Store, type StoredRun, StoreError } from "../../runtime/ports/store.ts";
import type { StoredCheckpoint, StoredSession } from "../../runtime/ports/stored-session.ts";
import { findAcceptance } from "../../runtime/run/acceptance.ts";
import { COMPACTION_SOURCE } from "../../runtime/run/run-rules.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { turnsThatFit, turnsToKeep } from "../context/build-context.ts";
import type { ContextLimits } from "../context/context-limits.ts";
import { LATEST, type SessionContext } from "../context/session-context.ts";
import type { SessionTurn } from "../context/session-turn.ts";
import { transcript } from "../context/transcript.ts";
import type { DraftingSettings } from "../runs/draft-run.ts";
import { draftCompaction, summaryModel } from "./draft-compaction.ts";

export interface CompactionParts {
  readonly store: Store;
  readonly context: Pick<SessionContext, "turns">;
  readonly drafting: DraftingSettings;
  readonly submit: Runtime["submit"];
  /** By which the prompts of this model are counted. */
  readonly countTokens: (model: string) => (text: string) => number;
  readonly onDefect: (error: unknown) => void;
}

export type Begun =
  | {
      readonly ok: true;
      readonly runId: RunId;
      readonly sessionId: SessionId;
      readonly status: RunStatus;
      /** That are condensed by it. */
      readonly turns: number;
    }
  /** `idle`: there is nothing to do, or it is being done. */
  | { readonly ok: false; readonly code: RefusalCode | "idle"; readonly message: string };

/** Read beyond what a prompt holds, where a session was not condensed for long; older turns stay out of the summary. */
const MORE_RUNS = 50;
/** Of a session that have not ended. */
const MAX_OPEN = 500;
const MAX_TRANSCRIPT_TOKENS = 12_000;
const NOTHING = "Nothing to condense: all turns of this conversation are in the next prompt or condensed already.";
const NO_SESSION = refuse("not_found", "no such session");
const GOING_ON = "This conversation is being condensed already.";

interface Uncondensed {
  readonly checkpoint: StoredCheckpoint;
  readonly runs: readonly PlacedRun[];
  readonly turns: readonly SessionTurn[];
}

export class Compaction {
  readonly #parts: CompactionParts;
  /** Between the look at the store and the accepted run. */
  readonly #beginning = new Set<SessionId>();

  constructor(parts: CompactionParts) {
    this.#parts = parts;
  }

  /** Asked for by a person: condenses at least the older half of what is not condensed yet. */
  async begin(sessionId: SessionId, principal: string): Promise<Begun> {
    const { drafting, store } = this.#parts;
    return await this.#alone(sessionId, async () => {
      const session = await store.findSession(sessionId);
      if (session === null) return NO_SESSION;
      const uncondensed = await this.#uncondensed(sessionId, drafting.limitsOf(session.agentId));
      return await this.#condense(session, uncondensed, principal, ESTIMATED_TOKENS.count, true);
    });
  }

  /** After each run: begins a compaction where the session needs one. A failure here is none of the run's. */
  readonly runEnded = async (run: StoredRun): Promise<void> => {
    if (findAcceptance(run.accepted)?.continuesSession !== true) return;
    try {
      await this.#alone(run.sessionId, () => this.#afterTurn(run));
    } catch (error) {
      // The store is closed or lost, which is reported where it happened.
      if (!(error instanceof StoreError)) this.#parts.onDefect(error);
    }
  };

  async #afterTurn({ agentId, sessionId, model }: StoredRun): Promise<Begun> {
    const { drafting, store, countTokens: counterOf } = this.#parts;
    const limits = drafting.limitsOf(agentId);
    const uncondensed = await this.#uncondensed(sessionId, limits);
    const { turns } = uncondensed;
    const countTokens = counterOf(model);
    const isAsked = turns.at(-1)?.asksToCondense === true;
    const isNeeded = turnsThatFit(turns, limits, countTokens) < turns.length;
    if (!isAsked && (!isNeeded || hasJustFailed(uncondensed, limits)))
      return { ok: false, code: "idle", message: NOTHING };
    const session = await store.findSession(sessionId);
    if (session === null || session.isForged) return NO_SESSION;
    return await this.#condense(session, uncondensed, "system", countTokens, isAsked);
  }

  async #alone(sessionId: SessionId, begin: () => Promise<Begun>): Promise<Begun> {
    if (this.#beginning.has(sessionId)) return { ok: false, code: "idle", message: GOING_ON };
    this.#beginning.add(sessionId);
    try {
      return await begin();
    } finally {
      this.#beginning.delete(sessionId);
    }
  }

  async #uncondensed(sessionId: SessionId, limits: ContextLimits): Promise<Uncondensed> {
    const { store, context } = this.#parts;
    const checkpoint = await readCheckpoint(store, sessionId);
    const between = { after: condensedPosition(checkpoint), before: LATEST };
    const most = limits.maxTurns + MORE_RUNS;
    const runs = await store.sessionRuns(sessionId, { ...between, after: Math.max(between.after, 0) }, most);
    const turns = await context.turns(sessionId, between, most);
    return { checkpoint, runs, turns };
  }

  async #condense(
    session: StoredSession,
    { checkpoint, turns }: Uncondensed,
    principal: string,
    countTokens: (text: string) => number,
    isAsked: boolean,
  ): Promise<Begun> {
    const { store, drafting, submit } = this.#parts;
    const { sessionId } = session;
    const limits = drafting.limitsOf(session.agentId);
    const open = await store.openRunsOf(sessionId, MAX_OPEN);
    if (open.some(({ source }) => source === COMPACTION_SOURCE)) return { ok: false, code: "idle", message: GOING_ON };
    const before = open[0]?.position ?? LATEST;
    const kept = turnsToKeep(turns, limits, countTokens);
    const most = isAsked ? Math.min(kept, Math.max(1, Math.floor(turns.length / 2))) : kept;
    const old = turns.slice(0, turns.length - most).filter(({ position }) => position < before);
    if (old.length === 0) return { ok: false, code: "idle", message: NOTHING };
    const summary = summaryIn(checkpoint);
    const text = (from: number): string => transcript(summary, old.slice(from), limits);
    const chosen = summaryModel(drafting, session.agentId, estimateTokens(text(0)));
    if (!chosen.ok) return refuse("invalid.request", chosen.message);
    const room = Math.min(MAX_TRANSCRIPT_TOKENS, Math.floor(chosen.model.contextWindow / 2));
    let from = 0;
    while (from < old.length - 1 && chosen.model.tokens.count(text(from)) > room) from += 1;
    const condensed = old.slice(from);
    const drafted = await draftCompaction(drafting, chosen.model, chosen.routing, {
      ...{ session, principal, limits, transcript: text(from) },
      condenses: {
        through: old.at(-1)?.position ?? 0,
        turns: (summary?.turns ?? 0) + condensed.length,
        evidence: [...(summary === null ? [] : [summary.writtenBy]), ...condensed.map(({ id }) => id)],
        maxTokens: limits.summaryTokens,
        trims: isAsked,
      },
      labels: condensed.map(({ labels }) => labels).reduce(joinLabels, summary?.labels ?? CLEAN_LABELS),
    });
    if (!drafted.ok) return drafted;
    const accepted = await submit(drafted.draft);
    return accepted.ok ? { ...accepted, status: "queued", turns: condensed.length } : accepted;
  }
}

/** The latest compaction brought no summary, and few turns have ended since. */
function hasJustFailed({ checkpoint, runs }: Uncondensed, { maxTurns }: ContextLimits): boolean {
  const at = runs.findLastIndex(({ source }) => source === COMPACTION_SOURCE);
  if (at === -1 || runs[at]?.runId === summaryIn(checkpoint)?.writtenBy) return false;
  return runs.length - 1 - at < Math.floor(maxTurns / 2);
}
