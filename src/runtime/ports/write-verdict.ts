/**
 * What a rule says about one write: carry it out, leave the rows as they are, or refuse the commit. Rules are pure
 * functions over the rows they need and live with their subject, so that every store applies the same ones: the store
 * reads the rows, asks the rule, writes.
 */
import type { StoreError } from "./store.ts";

export type WriteVerdict = "write" | "skip" | StoreError;
