/**
 * A rule's verdict on one write: perform it, leave the rows unchanged, or refuse the commit. Rules are pure
 * functions over the rows they need and live with their subject, so that every store applies the same ones: the store
 * reads the rows, asks the rule, writes.
 */
import type { StoreError } from "./store.ts";

export type WriteVerdict = "write" | "skip" | StoreError;
