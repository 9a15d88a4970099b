/**
 * Who watches which run. Watchers hear what is durable, in order, and text while it is being written.
 *
 * A watcher that throws is a defect of the watcher's and must not touch the run: listeners only put things down.
 */
import type { Entry } from "../kernel/journal/entry.ts";
import type { RunId } from "../kernel/vocabulary/identifiers.ts";
import type { ToolOutput } from "./release-output.ts";
import type { Delta } from "./release-text.ts";

export interface Watcher {
  entries(entries: readonly Entry[]): void;
  delta(delta: Delta): void;
  output(output: ToolOutput): void;
  /** Nothing more will be heard here, although the run has not ended. */
  broken(error: unknown): void;
}

export class News {
  readonly #watchers = new Map<RunId, Set<Watcher>>();

  watch(runId: RunId, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(runId) ?? new Set();
    this.#watchers.set(runId, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(runId) === watchers) this.#watchers.delete(runId);
    };
  }

  close(error: unknown): void {
    for (const watchers of this.#watchers.values()) for (const watcher of watchers) watcher.broken(error);
    this.#watchers.clear();
  }

  hasWatchers(runId: RunId): boolean {
    return this.#watchers.has(runId);
  }

  entries(runId: RunId, entries: readonly Entry[]): void {
    for (const watcher of this.#watchers.get(runId) ?? []) watcher.entries(entries);
  }

  delta(runId: RunId, delta: Delta): void {
    for (const watcher of this.#watchers.get(runId) ?? []) watcher.delta(delta);
  }

  output(runId: RunId, output: ToolOutput): void {
    for (const watcher of this.#watchers.get(runId) ?? []) watcher.output(output);
  }
}
