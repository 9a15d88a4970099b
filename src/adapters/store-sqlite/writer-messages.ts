/**
 * What the store and its writer thread say to each other.
 *
 * G1. Commits are answered in the order in which they were given, many in one reply, so none needs a name.
 * G2. The common case is short: a list of commits there, a number back.
 */
import type { CommitResult } from "../../runtime/ports/store.ts";
import type { PackedWrite } from "./packed-writes.ts";
import type { Failure } from "./thread-failure.ts";

export interface WriterSetup {
  readonly file: string;
  readonly homeId: string;
  readonly busyTimeoutMs: number;
  readonly maxPages: number | null;
}

export type Commits = readonly (readonly PackedWrite[])[];

export type WriterRequest = Commits | "checkpoint" | "close";

/** How the next commits ended; `at` counts from the first of them. What is not mentioned went well and reserved nothing. */
export interface BatchReport {
  readonly commits: number;
  readonly refused: readonly { readonly at: number; readonly failure: Failure }[];
  readonly spend: readonly { readonly at: number; readonly spend: CommitResult["spend"] }[];
}

export type WriterReply =
  /** So many commits went well and reserved nothing. */
  | number
  | ({ readonly type: "committed" } & BatchReport)
  /** Nothing that is still unanswered was written, and nothing more will be. */
  | { readonly type: "broken"; readonly failure: Failure }
  | { readonly type: "closed"; readonly failure: Failure | null };
