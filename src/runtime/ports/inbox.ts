/** Where files that came with a message lie for the tools: the folder `inbox` of the workspace. */
import type { Labels } from "../../kernel/vocabulary/labels.ts";

export interface InboxFile {
  /** Letters, digits and a few signs; no path. */
  readonly name: string;
  /** Base64. */
  readonly data: string;
}

export interface Inbox {
  /** Each under its name, or one like it that is free; returns the paths. Nothing is ever replaced. */
  place(files: readonly InboxFile[], labels: Labels): Promise<readonly string[]>;
  /** Paths as `place` returned them. */
  remove(paths: readonly string[]): Promise<void>;
}
