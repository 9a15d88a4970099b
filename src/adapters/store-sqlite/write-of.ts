/** One kind of write, by its name. */
import type { Write } from "../../runtime/ports/store.ts";

export type WriteOf<T extends Write["type"]> = Extract<Write, { readonly type: T }>;
