/**
 * What one session remembers beside its messages, while a run of it is driven (S-1). NOTES change it in the transaction of
 * the answer that holds them; the runs of a session go one after the other, so no other writer comes between.
 * Capabilities are not part of it: the ledger decides them.
 */
import type { StatementOf } from "../../kernel/journal/chain.ts";
import { applyNotes, type CheckpointState, EMPTY_CHECKPOINT } from "../../kernel/protocol/checkpoint-state.ts";
import type { NotesPatch } from "../../kernel/protocol/notes.ts";
import { canonicalJson } from "../../kernel/vocabulary/canonical-json.ts";
import { cutText } from "../../kernel/vocabulary/cut-text.ts";
import type { BodyRef, MemoryId, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS, joinLabels, type Labels } from "../../kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import { MAX_MEMORY_CHARS, memoryHash, memoryIdOf } from "../memory/memory-rules.ts";
import type { Store, Write } from "../ports/store.ts";
import type { MemoryKind } from "../ports/stored-memory.ts";
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

/** The run that writes, for what it adds to memory. */
export interface RememberingRun {
  readonly runId: RunId;
  readonly agentId: string;
  /** See `NewMemory`. */
  readonly owner: string | null;
}

/** The newest stay. */
const MAX_MEMORY_REFS = 256;

export class SessionCheckpoint {
  readonly #sessionId: SessionId;
  readonly #run: RememberingRun;
  readonly #trimsThrough: number | null;
  #stored: StoredCheckpoint;
  #noted: NotedState;

  /** `trimsThrough`: how far `condense_now` of this run trims; null: there is nothing to trim. */
  constructor(sessionId: SessionId, stored: StoredCheckpoint, trimsThrough: number | null, run: RememberingRun) {
    this.#sessionId = sessionId;
    this.#run = run;
    this.#trimsThrough = trimsThrough;
    this.#stored = stored;
    this.#noted = notedState(stored);
  }

  get noted(): NotedState {
    return this.#noted;
  }

  /** The patch of a model's answer, for the transaction of its entry. */
  writesFor(
    { result, seq, ts, labels }: Pick<StatementOf<"INFER">, "result" | "seq" | "ts" | "labels">,
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
    const closed = before.openLoops.filter((loop) => patch.closeOpenLoops.includes(loop));
    const memories = closed.map((loop, at) => {
      return this.#memory("closed_loop", `Closed: ${loop}`, noted.labels, { seq, ts }, at);
    });
    return [...this.#write({ ...trimmed, state: JSON.stringify(noted) }, ts, noted), ...memories];
  }

  /** Memories that the run was given or has added (S-1.1). */
  refer(ids: readonly MemoryId[], ts: string): readonly Write[] {
    const { memoryRefs } = this.#noted;
    const added = ids.filter((id) => !memoryRefs.includes(id));
    if (added.length === 0) return [];
    const noted = { ...this.#noted, memoryRefs: [...memoryRefs, ...added].slice(-MAX_MEMORY_REFS) };
    return this.#write({ state: JSON.stringify(noted) }, ts, noted);
  }

  #memory(kind: MemoryKind, text: string, labels: Labels, { seq, ts }: { seq: number; ts: string }, at: number): Write {
    const { runId, agentId, owner } = this.#run;
    const given = {
      ...{ agentId, owner, kind, text: cutText(text, MAX_MEMORY_CHARS), tags: this.#noted.memoryTags, labels },
      ...{ source: { runId, seq }, origin: `run ${runId}`, createdAt: ts, supersedes: null },
    };
    const memory = { ...given, id: memoryIdOf(kind, runId, seq, at) };
    return { type: "add-memory", memory, contentHash: memoryHash(memory) };
  }

  /** Without a model: the turns before the newest are no longer sent (S-2.6). */
  #trimmed(): Pick<StoredCheckpoint, "condensedThrough"> {
    const { condensedThrough } = this.#stored;
    return { condensedThrough: later(this.#trimsThrough ?? 0, condensedThrough) };
  }

  /** The summary replaces the one before; with `trims`, what it covers is no longer sent as messages. */
  condense(summary: SessionSummary, trims: boolean, seq: number): readonly Write[] {
    const { condensedThrough } = this.#stored;
    const { text, labels, createdAt } = summary;
    return [
      ...this.#write(
        {
          summary: JSON.stringify(summary),
          ...(trims ? { condensedThrough: later(summary.through, condensedThrough) } : {}),
        },
        createdAt,
        this.#noted,
      ),
      this.#memory("summary", text, labels, { seq, ts: createdAt }, 0),
    ];
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
