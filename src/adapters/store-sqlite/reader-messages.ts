/** What the store and its reader thread say to each other. */
import type { ListArguments, ListName } from "./list-reads.ts";
import type { Failure } from "./thread-failure.ts";

export type ReaderRequest =
  | { [K in ListName]: { readonly id: number; readonly list: K; readonly args: ListArguments<K> } }[ListName]
  | { readonly id: number; readonly backupTo: string };

export type ReaderReply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: Failure };
