/**
 * RunBroadcaster publishes a run's entries once they are durable, in order, and its text and tool output while they are
 * produced. Before a run's first publish, subscribers cannot have missed entries, so they need not read the journal.
 * The text of an attempt is kept until its entry is published: a watcher that comes late gets all of it. Tool output it
 * gets from there on.
 *
 * Watchers only store what they get: one that throws would be a defect, and would hurt the run.
 */
import type { Entry } from "../../kernel/journal/entry.ts";
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Delta, LiveText } from "../model/release-text.ts";
import type { ToolOutput } from "../tools/release-output.ts";

export interface Watcher {
  /** `textOf` has the bodies that the run holds in memory: they need not be read. */
  entries(entries: readonly Entry[], textOf: Lookup): void;
  delta(delta: Delta): void;
  output(output: ToolOutput): void;
  /** Nothing more is published, although the run has not ended. */
  broken(error: unknown): void;
}

export class RunBroadcaster {
  readonly #watchers = new Map<RunId, Set<Watcher>>();
  readonly #unpublished = new Set<RunId>();
  readonly #texts = new Map<RunId, LiveText>();

  watch(runId: RunId, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(runId) ?? new Set();
    this.#watchers.set(runId, watchers.add(watcher));
    const soFar = this.#texts.get(runId)?.readAll() ?? null;
    if (soFar !== null) watcher.delta(soFar);
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(runId) === watchers) this.#watchers.delete(runId);
    };
  }

  /** The run was accepted just now: all its entries will be published here. */
  register(runId: RunId): void {
    this.#unpublished.add(runId);
  }

  /** A watcher that subscribes now gets every entry. */
  isUnpublished(runId: RunId): boolean {
    return this.#unpublished.has(runId);
  }

  close(error: unknown): void {
    for (const watchers of this.#watchers.values()) for (const watcher of watchers) watcher.broken(error);
    this.#watchers.clear();
    this.#unpublished.clear();
    this.#texts.clear();
  }

  hasWatchers(runId: RunId): boolean {
    return this.#watchers.has(runId);
  }

  entries(runId: RunId, entries: readonly Entry[], textOf: Lookup): void {
    this.#unpublished.delete(runId);
    const attempt = this.#texts.get(runId)?.attempt;
    if (entries.some((entry) => entry.kind === "INFER" && entry.decided.attempt === attempt)) this.#texts.delete(runId);
    for (const watcher of this.#watchers.get(runId) ?? []) watcher.entries(entries, textOf);
  }

  /** An attempt begins to write: `text` takes the place of earlier ones. */
  beginText(runId: RunId, text: LiveText): void {
    this.#texts.set(runId, text);
  }

  /** The run is no longer driven. */
  dropText(runId: RunId): void {
    this.#texts.delete(runId);
  }

  /** The text of the run has grown. */
  delta(runId: RunId): void {
    const watchers = this.#watchers.get(runId);
    const delta = watchers === undefined ? null : (this.#texts.get(runId)?.readNext() ?? null);
    if (delta !== null) for (const watcher of watchers ?? []) watcher.delta(delta);
  }

  output(runId: RunId, output: ToolOutput): void {
    for (const watcher of this.#watchers.get(runId) ?? []) watcher.output(output);
  }
}
