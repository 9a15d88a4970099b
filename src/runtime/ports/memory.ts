/** Memory, as tools use it. */
import type { Hash, MemoryId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { AskingRun, CallContext } from "./toolbox.ts";

export interface RememberedText {
  readonly text: string;
  readonly tags: readonly string[];
  readonly labels: Labels;
  readonly by: NonNullable<CallContext["by"]>;
  /** The same call again remembers nothing new. */
  readonly key: Hash;
}

export interface MemoryExcerpt {
  readonly id: MemoryId;
  readonly score: number;
  readonly excerpt: string;
  readonly tags: readonly string[];
  readonly createdAt: string;
  readonly labels: Labels;
}

export interface MemoryAccess {
  /** The id of the memory, or of the one that says the same already. */
  remember(remembered: RememberedText): Promise<MemoryId>;
  /** In the memories that this run may be given; without a run, that any run of this machine may. */
  search(
    query: string,
    tags: readonly string[],
    limit: number,
    by: AskingRun | undefined,
  ): Promise<readonly MemoryExcerpt[]>;
}
