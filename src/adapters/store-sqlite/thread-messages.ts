/**
 * The messages between the store and its threads, and where the threads' code is.
 *
 * G1. Commits are answered in the order in which they were sent, many in one reply, so they need no ids.
 */
import type { CommitResult } from "../../runtime/ports/store.ts";
import type { ListArguments, ListName } from "./list-reads.ts";
import type { PackedWrite } from "./packed-writes.ts";
import type { Failure } from "./sqlite-failure.ts";

export interface WriterSetup {
  readonly file: string;
  readonly homeId: string;
  readonly busyTimeoutMs: number;
  readonly maxPages: number | null;
}

export type Commits = readonly (readonly PackedWrite[])[];

/** `rest`: a checkpoint while nothing is written, so that there is time to give memory back. */
export interface ArchiveRequest {
  readonly endedBefore: string;
  readonly limit: number;
}

export type WriterRequest = Commits | ArchiveRequest | "checkpoint" | "rest" | "purge" | "close";

/** How the next commits ended; `at` counts from the first of them. Commits that are not listed succeeded and reserved nothing. */
export interface BatchReport {
  readonly commits: number;
  readonly refused: readonly { readonly at: number; readonly failure: Failure }[];
  readonly spend: readonly { readonly at: number; readonly spend: CommitResult["spend"] }[];
}

export type WriterReply =
  | ({ readonly type: "committed" } & BatchReport)
  /** No unanswered commit was written, and none will be. */
  | { readonly type: "broken"; readonly failure: Failure }
  | { readonly type: "archived"; readonly isMore: boolean }
  /** The log is empty, unless another process read it. */
  | { readonly type: "purged"; readonly isWhole: boolean }
  | { readonly type: "closed"; readonly failure: Failure | null };

export type ReaderRequest =
  | { [K in ListName]: { readonly id: number; readonly list: K; readonly args: ListArguments<K> } }[ListName]
  | { readonly id: number; readonly backupTo: string };

export type ReaderReply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: Failure };

/**
 * Beside this module, with the same extension: `writer-worker.ts` in the source tree; `writer-worker.js` in the bundle,
 * beside the chunk that contains this module.
 */
export function workerFile(name: "writer-worker" | "reader-worker"): URL {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return new URL(`./${name}.${extension}`, import.meta.url);
}
