/** What the driver of a run reports to whoever keeps the drivers. */
import type { Entry } from "../../kernel/journal/entry.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Delta } from "../model/release-text.ts";
import type { ToolOutput } from "../tools/release-output.ts";

export interface RunObserver {
  /** These are durable now. */
  entries(entries: readonly Entry[]): void;
  delta(delta: Delta): void;
  output(output: ToolOutput): void;
  /** Is anybody there to read while it is being written? */
  hasReaders(): boolean;
  /** The store refused the run's writes. */
  lost(error: unknown): void;
  /** A child the run no longer waits for must be cancelled. */
  abandonedChild(runId: RunId): void;
  /** A child was inserted, or is waited for again. */
  awaitedChild(runId: RunId): void;
}
