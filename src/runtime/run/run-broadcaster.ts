/**
 * Who watches which run. Watchers hear what is durable, in order, and text while it is being written.
 *
 * Of a run that is new here it is known until its first entries are told that nobody can have missed any.
 *
 * A watcher that throws is a defect of the watcher's and must not touch the run: listeners only put things down.
 */
import type { Entry } from "../../kernel/journal/entry.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Delta } from "../model/release-text.ts";
import type { ToolOutput } from "../tools/release-output.ts";

export interface Watcher {
  entries(entries: readonly Entry[]): void;
  delta(delta: Delta): void;
  output(output: ToolOutput): void;
  /** Nothing more will be heard here, although the run has not ended. */
  broken(error: unknown): void;
}

export class RunBroadcaster {
  readonly #watchers = new Map<RunId, Set<Watcher>>();
  readonly #untold = new Set<RunId>();

  watch(runId: RunId, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(runId) ?? new Set();
    this.#watchers.set(runId, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(runId) === watchers) this.#watchers.delete(runId);
    };
  }

  /** The run was accepted just now: all its entries will be told here. */
  begin(runId: RunId): void {
    this.#untold.add(runId);
  }

  /** Whoever watches it already will hear it from its first entry on. */
  isUntold(runId: RunId): boolean {
    return this.#untold.has(runId);
  }

  close(error: unknown): void {
    for (const watchers of this.#watchers.values()) for (const watcher of watchers) watcher.broken(error);
    this.#watchers.clear();
    this.#untold.clear();
  }

  hasWatchers(runId: RunId): boolean {
    return this.#watchers.has(runId);
  }

  entries(runId: RunId, entries: readonly Entry[]): void {
    this.#untold.delete(runId);
    for (const watcher of this.#watchers.get(runId) ?? []) watcher.entries(entries);
  }

  delta(runId: RunId, delta: Delta): void {
    for (const watcher of this.#watchers.get(runId) ?? []) watcher.delta(delta);
  }

  output(runId: RunId, output: ToolOutput): void {
    for (const watcher of this.#watchers.get(runId) ?? []) watcher.output(output);
  }
}
