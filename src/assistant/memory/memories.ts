/**
 * What agents remember beyond one conversation: adding, finding, forgetting. Memories serves operations, commands, tools and
 * the prompt; the texts of a run (summaries, closed loops) are added in that run's own transactions.
 *
 * R1. A text is redacted before it is stored.
 * R2. What a channel from outside has said is found in that conversation only, and a channel from outside is given nothing
 *     else that is private to this machine (`owner`).
 * R3. Finding never fails for want of an embedding model: words alone are searched then.
 */
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { asMemoryId, type MemoryId } from "../../kernel/vocabulary/identifiers.ts";
import { notedState, readCheckpoint } from "../../runtime/checkpoint/session-checkpoint.ts";
import { memoryOwner } from "../../runtime/memory/memory-owner.ts";
import { memoryHash, memoryIdOf } from "../../runtime/memory/memory-rules.ts";
import { estimateTokens } from "../../runtime/model/estimate-tokens.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type { MemoryAccess, MemoryExcerpt, RememberedText } from "../../runtime/ports/memory.ts";
import { newId, type RandomBytes } from "../../runtime/ports/randomness.ts";
import { type Page, type Store, StoreError, type Write } from "../../runtime/ports/store.ts";
import type {
  FoundMemory,
  MemoryFilter,
  MemoryUse,
  NewMemory,
  StoredMemory,
} from "../../runtime/ports/stored-memory.ts";
import type { AskingRun } from "../../runtime/ports/toolbox.ts";
import type { EmbeddingIndex } from "./embedding-index.ts";
import { mergeRanks, type RankedMemory, withoutRepeats } from "./merge-ranks.ts";
import { excerptOf, type RetrievedBlock, retrievedBlock } from "./retrieved-block.ts";
import { searchWords } from "./search-words.ts";

export interface MemoryLimits {
  /** Memories that a prompt is given by itself; 0: none. */
  readonly maxItems: number;
  readonly maxTokens: number;
}

export interface MemoriesParts {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: RandomBytes;
  readonly redactor: Pick<Redactor, "redactText">;
  readonly limits: () => MemoryLimits;
  /** Null: no embedding model is configured. */
  readonly index: () => Promise<EmbeddingIndex | null>;
}

export interface AddedMemory {
  readonly id: MemoryId;
  /** False: it was remembered before. */
  readonly isNew: boolean;
}

type Given = Omit<NewMemory, "id" | "createdAt">;

/** Of one ranking, before they are merged. */
const RANKED = 50;
/** Words alone: what matches much worse than the best is noise. */
const LEAST_OF_BEST = 0.3;

export class Memories implements MemoryAccess {
  readonly #parts: MemoriesParts;

  constructor(parts: MemoriesParts) {
    this.#parts = parts;
  }

  async add(given: Given, id?: MemoryId): Promise<AddedMemory> {
    const [added] = await this.addAll([given], id);
    return added as AddedMemory;
  }

  /** In one transaction. */
  async addAll(all: readonly Given[], id?: MemoryId): Promise<readonly AddedMemory[]> {
    const { store, clock, random, redactor } = this.#parts;
    const createdAt = timestampOf(clock.nowMs());
    const writes = all.map((given) => {
      const memory: NewMemory = {
        ...given,
        id: id ?? asMemoryId(newId("mem", random)),
        createdAt,
        text: redactor.redactText(given.text.trim()).text,
      };
      return { type: "add-memory", memory, contentHash: memoryHash(memory) } as const satisfies Write;
    });
    await store.commit(writes, "barrier");
    this.noteAdded();
    return await Promise.all(
      writes.map(async ({ memory, contentHash }) => {
        const stored =
          (await store.findMemory(memory.id)) !== null ? memory.id : await store.findMemoryLike(contentHash);
        return { id: stored ?? memory.id, isNew: stored === memory.id };
      }),
    );
  }

  /** Also called for what a run's own transactions add. */
  noteAdded(): void {
    this.#parts.index().then((index) => index?.wake());
  }

  async remember({ text, tags, labels, by, key }: RememberedText): Promise<MemoryId> {
    const { runId, agentId, sessionId, channelClass, entry: seq } = by;
    const owner = await memoryOwner(this.#parts.store, sessionId, channelClass);
    const { memoryTags } = notedState(await readCheckpoint(this.#parts.store, sessionId));
    const added = await this.add(
      {
        ...{ agentId, owner, kind: "remembered", text, labels, source: { runId, seq }, origin: `run ${runId}` },
        ...{ tags: [...new Set([...tags, ...memoryTags])], supersedes: null },
      },
      memoryIdOf("call", key),
    );
    return added.id;
  }

  async search(
    query: string,
    tags: readonly string[],
    limit: number,
    by: AskingRun | undefined,
  ): Promise<readonly MemoryExcerpt[]> {
    const { store } = this.#parts;
    const place =
      by === undefined
        ? { owner: null }
        : { agentId: by.agentId, owner: await memoryOwner(store, by.sessionId, by.channelClass) };
    const found = await this.find(query, { ...place, tags }, limit);
    const words = searchWords(query);
    return found.map(({ id, score, text, createdAt, labels, tags }) => {
      return { id, score, excerpt: excerptOf(text, words), tags, createdAt, labels };
    });
  }

  /** The best first. */
  async find(query: string, filter: MemoryFilter, limit: number): Promise<readonly RankedMemory[]> {
    const { store } = this.#parts;
    const words = searchWords(query);
    const [byWords, near] = await Promise.all([
      words.length === 0 ? [] : store.searchMemories(words, filter, RANKED),
      this.#near(query, filter),
    ]);
    const best = byWords[0]?.bm25 ?? 0;
    const matching = byWords.filter(({ bm25 }) => bm25 >= best * LEAST_OF_BEST).map(({ bm25: _, ...memory }) => memory);
    const merged = mergeRanks(near === null ? [matching] : [matching, near]);
    return withoutRepeats(merged, ({ text }) => excerptOf(text, words)).slice(0, limit);
  }

  async #near(query: string, filter: MemoryFilter): Promise<readonly FoundMemory[] | null> {
    const index = await this.#parts.index();
    return index === null ? null : await index.nearest(query, filter, RANKED);
  }

  /** For the prompt of a run; null: nothing was found. */
  async retrieve(
    message: string,
    filterOf: () => Promise<MemoryFilter>,
    without: (memory: StoredMemory) => boolean,
  ): Promise<RetrievedBlock | null> {
    const { limits } = this.#parts;
    const { maxItems, maxTokens } = limits();
    if (maxItems === 0 || message.trim() === "") return null;
    const found = (await this.find(message, await filterOf(), 2 * maxItems)).filter((memory) => !without(memory));
    return retrievedBlock(found.slice(0, maxItems), searchWords(message), maxTokens, estimateTokens);
  }

  list(filter: MemoryFilter, page: Page): Promise<readonly FoundMemory[]> {
    return this.#parts.store.listMemories(filter, page);
  }

  show(id: MemoryId): Promise<StoredMemory | null> {
    return this.#parts.store.findMemory(id);
  }

  uses(id: MemoryId, page: Page): Promise<readonly MemoryUse[]> {
    return this.#parts.store.memoryUses(id, page);
  }

  /** Null: there is no such memory. */
  forget(id: MemoryId, actor: string): Promise<readonly MemoryId[] | null> {
    return forgetMemory(this.#parts, id, actor);
  }
}

/** As long as any chain of replacements that a person makes. */
const MAX_REPLACED = 1_000;

/**
 * Removes what a memory says, and what those said that it superseded, from the table, the index of words and the vectors; the
 * ids stay as tombstones. Runs that told or retrieved it keep their own texts. Returns the forgotten ids, none where it was
 * forgotten before; null where there is no such memory.
 */
async function forgetMemory(
  { store, clock }: Pick<MemoriesParts, "store" | "clock">,
  id: MemoryId,
  actor: string,
): Promise<readonly MemoryId[] | null> {
  const first = await store.findMemory(id);
  if (first === null) return null;
  const memoryIds: MemoryId[] = [];
  for (let memory: StoredMemory | null = first; memory !== null && memoryIds.length < MAX_REPLACED; ) {
    if (memory.text !== null) memoryIds.push(memory.id);
    memory = memory.supersedes === null ? null : await store.findMemory(memory.supersedes);
  }
  if (memoryIds.length === 0) return [];
  const draft = { kind: "memory.forgotten", ts: timestampOf(clock.nowMs()), actor, data: { memoryIds } } as const;
  await store.commit([{ type: "forget-memory", draft }], "barrier");
  await purgeLog(store);
  return memoryIds;
}

const PURGE_TRIES = 20;

/** The log of the database has the text too. Another process may be reading it; then the next purge, or the stop, empties it. */
async function purgeLog(store: Store): Promise<void> {
  for (let tries = 1; tries <= PURGE_TRIES; tries += 1) {
    try {
      return await store.purge();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "store.busy")) throw error;
    }
  }
}
