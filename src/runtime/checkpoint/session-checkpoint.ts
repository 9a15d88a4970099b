/**
 * What one session remembers beside its messages, while a run of it is driven (S-1). NOTES change it in the transaction of
 * the answer that holds them; the runs of a session go one after the other, so no other writer comes between.
 * Capabilities are not part of it: the ledger decides them.
 */
import type { StatementOf } from "../../kernel/journal/chain.ts";
import { applyNotes, type CheckpointState, EMPTY_CHECKPOINT } from "../../kernel/protocol/checkpoint-state.ts";
import type { NotesPatch } from "../../kernel/protocol/notes.ts";
import { canonicalJson } from "../../kernel/vocabulary/canonical-json.ts";
import type { BodyRef, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS, joinLabels, type Labels } from "../../kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { Store, Write } from "../ports/store.ts";
import type { StoredCheckpoint } from "../ports/stored-session.ts";

export interface NotedState extends Omit<CheckpointState, "capabilitiesGranted" | "capabilitiesPending"> {
  /** Joined over all that the models had seen which wrote it. */
  readonly labels: Labels;
}

const NOTHING_NOTED: NotedState = { ...notedIn(EMPTY_CHECKPOINT), labels: CLEAN_LABELS };

/** Earlier turns in short: a derived text that says which runs it was made from. */
export interface SessionSummary {
  readonly text: string;
  readonly labels: Labels;
  readonly tokens: number;
  readonly createdAt: string;
  /** The turns it was made from, by run; the first may be the compaction before it, which names its own. */
  readonly evidence: readonly string[];
  readonly writtenBy: RunId;
  readonly turns: number;
  /** The position of the last run that it covers. */
  readonly through: number;
}

const UNWRITTEN: StoredCheckpoint = {
  revision: 0,
  updatedAt: "",
  state: JSON.stringify(NOTHING_NOTED),
  summary: null,
  condensedThrough: 0,
};

/** Without capabilities and labels. */
export function notedIn(state: CheckpointState | NotedState): Omit<NotedState, "labels"> {
  const { goals, openLoops, decisions, constraints, episodeSummary, memoryTags, memoryRefs } = state;
  return { goals, openLoops, decisions, constraints, episodeSummary, memoryTags, memoryRefs };
}

/** Not validated: we wrote it to our own store. */
export function notedState({ state }: StoredCheckpoint): NotedState {
  return JSON.parse(state) as NotedState;
}

/** Turns up to this position are in the summary or were left behind; 0: none are. */
export function condensedPosition(checkpoint: StoredCheckpoint): number {
  return later(checkpoint.condensedThrough, summaryIn(checkpoint)?.through ?? 0);
}

/** Positions of imported turns are negative, so 0 stands for none. */
function later(one: number, other: number): number {
  return one === 0 || other === 0 ? one + other : Math.max(one, other);
}

export function summaryIn({ summary }: StoredCheckpoint): SessionSummary | null {
  return summary === null ? null : (JSON.parse(summary) as SessionSummary);
}

/** One that another program changed says nothing: what it holds would reach the next prompt. */
export async function readCheckpoint(
  store: Pick<Store, "findCheckpoint">,
  sessionId: SessionId,
  onForged: () => void = () => {},
): Promise<StoredCheckpoint> {
  const found = await store.findCheckpoint(sessionId);
  if (found === "forged") onForged();
  return found === null || found === "forged" ? UNWRITTEN : found;
}

export class SessionCheckpoint {
  readonly #sessionId: SessionId;
  readonly #trimsThrough: number | null;
  #stored: StoredCheckpoint;
  #noted: NotedState;

  /** `trimsThrough`: how far `condense_now` of this run trims; null: there is nothing to trim. */
  constructor(sessionId: SessionId, stored: StoredCheckpoint, trimsThrough: number | null) {
    this.#sessionId = sessionId;
    this.#trimsThrough = trimsThrough;
    this.#stored = stored;
    this.#noted = notedState(stored);
  }

  get noted(): NotedState {
    return this.#noted;
  }

  /** The patch of a model's answer, for the transaction of its entry. */
  writesFor(
    { result, ts, labels }: Pick<StatementOf<"INFER">, "result" | "ts" | "labels">,
    readJson: (ref: BodyRef) => JsonValue | null,
  ): readonly Write[] {
    if (result?.type !== "model.answered" || result.notes?.status !== "applied" || result.notes.ref === null) return [];
    const patch = readJson(result.notes.ref) as NotesPatch | null;
    if (patch === null) return [];
    const { state } = applyNotes({ ...EMPTY_CHECKPOINT, ...notedIn(this.#noted) }, patch);
    const before = notedIn(this.#noted);
    const after = notedIn(state);
    const trimmed = patch.actions.includes("condense_now") ? this.#trimmed() : {};
    if (canonicalJson(before) === canonicalJson(after)) return this.#write(trimmed, ts, this.#noted);
    const noted = { ...after, labels: joinLabels(this.#noted.labels, labels) };
    return this.#write({ ...trimmed, state: JSON.stringify(noted) }, ts, noted);
  }

  /** Without a model: the turns before the newest are no longer sent (S-2.6). */
  #trimmed(): Pick<StoredCheckpoint, "condensedThrough"> {
    const { condensedThrough } = this.#stored;
    return { condensedThrough: later(this.#trimsThrough ?? 0, condensedThrough) };
  }

  /** The summary replaces the one before; with `trims`, what it covers is no longer sent as messages. */
  condense(summary: SessionSummary, trims: boolean): readonly Write[] {
    const { condensedThrough } = this.#stored;
    return this.#write(
      {
        summary: JSON.stringify(summary),
        ...(trims ? { condensedThrough: later(summary.through, condensedThrough) } : {}),
      },
      summary.createdAt,
      this.#noted,
    );
  }

  #write(
    change: Partial<Pick<StoredCheckpoint, "state" | "summary" | "condensedThrough">>,
    updatedAt: string,
    noted: NotedState,
  ): readonly Write[] {
    const isSame = Object.entries(change).every(
      ([key, value]) => this.#stored[key as keyof StoredCheckpoint] === value,
    );
    if (isSame) return [];
    this.#stored = { ...this.#stored, ...change, revision: this.#stored.revision + 1, updatedAt };
    this.#noted = noted;
    return [{ type: "write-checkpoint", sessionId: this.#sessionId, checkpoint: this.#stored }];
  }
}
