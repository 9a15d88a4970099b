/** Memories: short texts that outlive their conversation, found again by search. One is never edited: another supersedes it. */
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import type { Hash, MemoryId, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { Page } from "./page.ts";

/** How it came about: it was asked for, a summary, a loop that was closed, or files that were imported. */
export const MEMORY_KINDS = ["remembered", "summary", "closed_loop", "imported"] as const;
export type MemoryKind = (typeof MEMORY_KINDS)[number];

export interface NewMemory {
  readonly id: MemoryId;
  readonly agentId: string;
  /** The key of the one session, on a channel from outside, that may be given it; null: any session of this machine. */
  readonly owner: string | null;
  readonly kind: MemoryKind;
  readonly text: string;
  readonly tags: readonly string[];
  readonly labels: Labels;
  /** The journal entry it comes from; null: it comes from no run. */
  readonly source: { readonly runId: RunId; readonly seq: number } | null;
  /** Who added it, or the file it was in. */
  readonly origin: string;
  readonly createdAt: string;
  readonly supersedes: MemoryId | null;
}

export interface StoredMemory extends Omit<NewMemory, "text"> {
  /** Null once it was forgotten: only this tombstone is left. */
  readonly text: string | null;
  readonly supersededBy: MemoryId | null;
  readonly forgottenAt: string | null;
}

export interface FoundMemory extends StoredMemory {
  readonly text: string;
  /** Grows with every memory. */
  readonly position: number;
}

/** What every given field fits. Superseded and forgotten memories are never found. */
export interface MemoryFilter {
  readonly agentId?: string;
  /** Absent: any. */
  readonly owner?: string | null;
  /** All of them. */
  readonly tags?: readonly string[];
  readonly integrity?: readonly Labels["integrity"][];
  readonly confidentiality?: readonly Labels["confidentiality"][];
}

/** In a run: `isCited` by its answer, otherwise only given to its model. */
export interface MemoryUse {
  readonly runId: RunId;
  readonly isCited: boolean;
}

export interface MemoryVector {
  readonly position: number;
  /** Signed bytes in Base64, of the direction alone; empty: this text could not be embedded. */
  readonly vector: string;
}

export interface MemoryReads {
  hasMemories(): Promise<boolean>;
  findMemory(id: MemoryId): Promise<StoredMemory | null>;
  /** The one that says the same, for the same agent and owner, under the same labels. */
  findMemoryLike(contentHash: Hash): Promise<MemoryId | null>;
  /** Newest first. */
  listMemories(filter: MemoryFilter, page: Page): Promise<readonly FoundMemory[]>;
  /** By BM25, the best first; `terms` are plain words. */
  searchMemories(
    terms: readonly string[],
    filter: MemoryFilter,
    limit: number,
  ): Promise<readonly (FoundMemory & { readonly bm25: number })[]>;
  /** The nearest first, of those that this model has embedded. */
  nearestMemories(model: string, vector: string, filter: MemoryFilter, limit: number): Promise<readonly FoundMemory[]>;
  /** The oldest first. */
  unembeddedMemories(model: string, limit: number): Promise<readonly Pick<FoundMemory, "position" | "text">[]>;
  /** Newest runs first. */
  memoryUses(id: MemoryId, page: Page): Promise<readonly MemoryUse[]>;
}

export type MemoryWrite =
  /** Changes nothing when repeated, or when another says the same. */
  | { readonly type: "add-memory"; readonly memory: NewMemory; readonly contentHash: Hash }
  /** Removes its text from every table; the id stays. Changes nothing when repeated. */
  | { readonly type: "forget-memory"; readonly draft: LedgerDraft<"memory.forgotten"> }
  /** Which memories a run's model was given, and which of these its answer cites; a citation of any other counts for nothing. */
  | {
      readonly type: "use-memories";
      readonly runId: RunId;
      readonly retrieved: readonly MemoryId[];
      readonly cited: readonly MemoryId[];
    }
  /** For each, some vectors of other models are removed, the newest first: a model that comes back goes on where it is whole. */
  | { readonly type: "put-memory-vectors"; readonly model: string; readonly vectors: readonly MemoryVector[] };
