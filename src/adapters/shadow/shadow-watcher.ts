/**
 * Watches files, shell and git for the shadow loop (T-5.1), in a thread of its own.
 *
 * N1. Nothing outside the configured paths is read: links are not followed, and each file is compared with its place when it
 *     is open (guarded-read.ts).
 * N2. What changed is looked at after a pause, each path once, a few at a time. What waits is bounded: beyond that, changes
 *     are counted and forgotten until the file changes again.
 * N3. How many files are known is bounded as well; a tree that is larger is watched in part, and that is reported.
 */
import { type Stats, unwatchFile, watchFile } from "node:fs";
import { basename } from "node:path";
import type { FSWatcher } from "chokidar";
import { checkSyntax, languageOf, repairOf } from "../../assistant/shadow/detectors/check-syntax.ts";
import { RepeatedCommands } from "../../assistant/shadow/detectors/repeated-commands.ts";
import { sourcesOfTest } from "../../assistant/shadow/detectors/test-source.ts";
import type { FileEvent, Finding, WatchOrders } from "../../assistant/shadow/trouble.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { AppendedLines } from "./appended-lines.ts";
import { readGuardedText } from "./guarded-read.ts";
import { placeInGit, watchedPaths } from "./watched-paths.ts";
import { WatchedRepository } from "./watched-repository.ts";

const QUIET_MS = 250;
const MAX_WAIT_MS = 1_000;
const MAX_PENDING = 2_000;
const BATCH = 50;
const MAX_KNOWN = 50_000;
const RECENT_MS = 60_000;
const MAX_TEXT_BYTES = 524_288;
const MAX_REPOSITORIES = 50;
const MAX_ORPHANS = 200;
const SHELL_EVERY_MS = 500;
const EMPTY_HOOK_FILE_AT = 1_048_576;

export interface WatcherStatus {
  readonly pending: number;
  /** Changes that were forgotten, since too many waited. */
  readonly dropped: number;
  readonly known: number;
}

interface WatcherParts {
  readonly orders: WatchOrders;
  readonly clock: Pick<Clock, "nowMs" | "wake" | "monotonicMs">;
  readonly redactor: Pick<Redactor, "redactText">;
  readonly onFinding: (finding: Finding) => void;
  /** For the operator: once for each thing that goes wrong. */
  readonly onProblem: (problem: string) => void;
}

export class ShadowWatcher {
  readonly #parts: WatcherParts;
  readonly #pending = new Map<string, FileEvent>();
  readonly #repositories = new Map<string, WatchedRepository>();
  /** Files with an error: without it, their ghosts settle. */
  readonly #broken = new Set<string>();
  /** Tests without a source, by the names that it may have. */
  readonly #orphans = new Map<string, { readonly path: string; readonly names: readonly string[] }>();
  readonly #commands = new RepeatedCommands();
  readonly #problems = new Set<string>();
  #watcher: FSWatcher | null = null;
  #known = 0;
  #dropped = 0;
  #isReady = false;
  #waitingSinceMs: number | null = null;
  #cancelWake: (() => void) | null = null;
  #working: Promise<void> = Promise.resolve();
  readonly #stopShell: (() => void)[] = [];

  constructor(parts: WatcherParts) {
    this.#parts = parts;
  }

  get status(): WatcherStatus {
    return { pending: this.#pending.size, dropped: this.#dropped, known: this.#known };
  }

  /** Resolves once changes are noticed. */
  async start(): Promise<void> {
    const { orders } = this.#parts;
    this.#watchShell();
    if (orders.roots.length === 0) return;
    const { watch } = await import("chokidar");
    const isWatched = watchedPaths(orders);
    const watcher = watch([...orders.roots], {
      ...{ followSymlinks: false, alwaysStat: true, ignorePermissionErrors: true, ignoreInitial: false },
      ignored: (path, stats) =>
        !isWatched(path) || stats?.isSymbolicLink() === true || (stats !== undefined && this.#known >= MAX_KNOWN),
    });
    this.#watcher = watcher;
    watcher.on("all", (event, path, stats) => this.#noticed(event, path, stats));
    watcher.on("error", (error) => this.#problem(String(error)));
    await new Promise<void>((resolve) => watcher.on("ready", resolve));
    this.#isReady = true;
    for (const path of orders.lookAgain) if (isWatched(path)) this.#wait(path, "change");
  }

  async stop(): Promise<void> {
    this.#cancelWake?.();
    for (const stop of this.#stopShell) stop();
    await this.#watcher?.close();
    await this.#working;
  }

  #noticed(event: string, path: string, stats: Stats | undefined): void {
    if (event === "add" || event === "addDir") this.#known += 1;
    if (event === "unlink" || event === "unlinkDir") this.#known = Math.max(0, this.#known - 1);
    if (event === "add" && this.#known === MAX_KNOWN) {
      this.#problem(`more than ${MAX_KNOWN} files are watched; the others are not: ignore more, or watch less`);
    }
    if (event === "unlinkDir") {
      // Waiting for it to come back would mean watching what is above it.
      if (this.#parts.orders.roots.includes(path)) this.#watcher?.unwatch(path);
      this.#repositories.delete(path.replace(/\/\.git$/, ""));
    }
    const place = placeInGit(path);
    if (place !== null) this.#knowRepository(place.repository, place.file);
    if (event === "addDir" || event === "unlinkDir" || !(this.#isReady || this.#isRecent(stats))) return;
    this.#wait(path, event as FileEvent);
  }

  /** What was written just before the first look would be missed otherwise. */
  #isRecent(stats: Stats | undefined): boolean {
    return stats !== undefined && stats.mtimeMs > this.#parts.clock.nowMs() - RECENT_MS;
  }

  #knowRepository(directory: string, file: string): void {
    const { git: events } = this.#parts.orders;
    const known = this.#repositories.get(directory);
    if (known === undefined && this.#repositories.size < MAX_REPOSITORIES) {
      const { redactor } = this.#parts;
      this.#repositories.set(directory, new WatchedRepository(directory, { events, redactor, isNew: this.#isReady }));
    } else if (!this.#isReady && file.startsWith("logs/refs/remotes/")) known?.knowRemote(file.slice("logs/".length));
  }

  #wait(path: string, event: FileEvent): void {
    const { clock } = this.#parts;
    const before = this.#pending.get(path);
    if (before === undefined && this.#pending.size >= MAX_PENDING) {
      this.#dropped += 1;
      this.#problem("changes come faster than they can be looked at; some are passed over");
      return;
    }
    // A new file was added, whatever came after.
    this.#pending.set(path, before === "add" && event === "change" ? "add" : event);
    this.#waitingSinceMs ??= clock.monotonicMs();
    const waitedMs = clock.monotonicMs() - this.#waitingSinceMs;
    if (this.#cancelWake !== null && waitedMs + QUIET_MS > MAX_WAIT_MS) return;
    this.#cancelWake?.();
    this.#cancelWake = clock.wake(QUIET_MS, () => this.#look());
  }

  #look(): void {
    this.#cancelWake = null;
    this.#waitingSinceMs = null;
    const batch = [...this.#pending].slice(0, BATCH);
    for (const [path] of batch) this.#pending.delete(path);
    this.#working = this.#working
      .then(async () => {
        for (const [path, event] of batch) await this.#examine(path, event);
      })
      .catch((error: unknown) => this.#problem(String(error)))
      .then(() => {
        if (this.#pending.size > 0) this.#cancelWake ??= this.#parts.clock.wake(0, () => this.#look());
      });
  }

  async #examine(path: string, event: FileEvent): Promise<void> {
    const { orders, onFinding } = this.#parts;
    const place = placeInGit(path);
    if (place !== null) {
      for (const finding of this.#repositories.get(place.repository)?.changed(place.file) ?? []) onFinding(finding);
      return;
    }
    this.#examineTest(path, event);
    const subject = `syntax ${path}`;
    if (event === "unlink") {
      this.#broken.delete(path);
      onFinding({ type: "settled", subject });
      return;
    }
    const language = languageOf(path);
    if (language === null || !orders.events.includes(event)) return;
    const text = readGuardedText(path, MAX_TEXT_BYTES);
    if (text === null) return;
    const found = await checkSyntax(path, language, text);
    if (found === null) {
      if (this.#broken.delete(path) || orders.lookAgain.includes(path)) onFinding({ type: "settled", subject });
      return;
    }
    if (this.#broken.size < MAX_PENDING) this.#broken.add(path);
    const repaired = repairOf(language, text);
    onFinding({ type: "found", subject, trouble: { kind: "syntax-error", event, path, language, ...found, repaired } });
  }

  #examineTest(path: string, event: FileEvent): void {
    const { orders, onFinding } = this.#parts;
    const name = basename(path);
    for (const [subject, orphan] of this.#orphans) {
      const isGone = event === "unlink" && orphan.path === path;
      if (!isGone && !(event === "add" && orphan.names.includes(name))) continue;
      this.#orphans.delete(subject);
      onFinding({ type: "settled", subject });
    }
    if (event !== "add" || !orders.events.includes("add")) return;
    const names = sourcesOfTest(name);
    if (names === null || this.#orphans.size >= MAX_ORPHANS || this.#isKnownName(names)) return;
    const subject = `orphan ${path}`;
    this.#orphans.set(subject, { path, names });
    onFinding({ type: "found", subject, trouble: { kind: "test-without-source", path, source: names[0] as string } });
  }

  #isKnownName(names: readonly string[]): boolean {
    const watched = this.#watcher?.getWatched() ?? {};
    return Object.values(watched).some((entries) => entries.some((entry) => names.includes(entry)));
  }

  #watchShell(): void {
    const { historyFile, hookFile } = this.#parts.orders;
    this.#follow(historyFile, null, (line) => this.#commands.remembered(line));
    this.#follow(hookFile, EMPTY_HOOK_FILE_AT, (line) => this.#commands.reported(line));
  }

  #follow(path: string | null, emptyAt: number | null, read: (line: string) => Finding | null): void {
    if (path === null) return;
    const lines = new AppendedLines(path, emptyAt);
    // Looks at this one file only; a watch of its directory would see its neighbours.
    const onChange = (): void => {
      for (const line of lines.read()) {
        const finding = read(line);
        if (finding !== null) this.#parts.onFinding(finding);
      }
    };
    watchFile(path, { interval: SHELL_EVERY_MS }, onChange);
    this.#stopShell.push(() => unwatchFile(path, onChange));
  }

  #problem(problem: string): void {
    if (this.#problems.has(problem) || this.#problems.size >= 10) return;
    this.#problems.add(problem);
    this.#parts.onProblem(problem);
  }
}
