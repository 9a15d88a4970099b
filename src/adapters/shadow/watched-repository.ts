/**
 * One git repository of a watched directory: what was committed, pushed, staged, or is in conflict since the last look.
 * What was there when watching began is not news.
 */
import { join } from "node:path";
import { findSecret } from "../../assistant/shadow/detectors/find-secrets.ts";
import type { Finding, GitEvent } from "../../assistant/shadow/trouble.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { readIndex } from "./git-index.ts";
import { changedBlobs, isBinaryObject, MAX_OBJECT_BYTES, readCommit, readObject } from "./git-objects.ts";
import { readGuarded } from "./guarded-read.ts";

const MAX_INDEX_BYTES = 33_554_432;
const MAX_LOG_BYTES = 65_536;
const MAX_COMMITS = 20;
const MAX_BLOBS = 200;
const MAX_REMOTES = 100;
/** A commit keeps it for good; texts of this size are rare, binaries are not. */
const LARGE_BYTES = 1_048_576;
const NO_ID = /^0+$/;

interface LogLine {
  readonly before: string;
  readonly after: string;
  readonly message: string;
}

export class WatchedRepository {
  readonly #directory: string;
  readonly #events: readonly GitEvent[];
  readonly #redactor: Pick<Redactor, "redactText">;
  /** How far each log was read, by its name. */
  readonly #logs = new Map<string, number>();
  #staged: ReadonlyMap<string, string> | null = null;
  #conflicts = "";

  /** `isNew`: it came while it was watched, so all of it is news. */
  constructor(
    directory: string,
    {
      events,
      redactor,
      isNew,
    }: {
      readonly events: readonly GitEvent[];
      readonly redactor: Pick<Redactor, "redactText">;
      readonly isNew: boolean;
    },
  ) {
    this.#directory = directory;
    this.#events = events;
    this.#redactor = redactor;
    if (isNew) this.#staged = new Map();
    else this.#look();
  }

  get #git(): string {
    return join(this.#directory, ".git");
  }

  #look(): void {
    this.#logs.set("HEAD", this.#sizeOf("HEAD"));
    const index = this.#readIndex();
    this.#staged = new Map(index?.staged.map(({ path, id }) => [path, id]));
    this.#conflicts = index?.conflicts.join("\n") ?? "";
  }

  /** A log of a remote that was there before. */
  knowRemote(name: string): void {
    if (this.#logs.size < MAX_REMOTES) this.#logs.set(name, this.#sizeOf(name));
  }

  /** `file`: which of git's files has changed, such as `index` or `logs/HEAD`. */
  changed(file: string): readonly Finding[] {
    if (file === "index") return this.#indexChanged();
    const log = /^logs\/(HEAD|refs\/remotes\/.+)$/.exec(file)?.[1];
    if (log === undefined) return [];
    const lines = this.#newLines(log);
    if (log === "HEAD") {
      if (!this.#events.includes("commit")) return [];
      const commits = lines.filter(({ message }) => message.startsWith("commit")).map(({ after }) => after);
      return commits.flatMap((id) => this.#secretsIn(id, false));
    }
    if (!this.#events.includes("push")) return [];
    const pushes = lines.filter(({ message }) => message.startsWith("update by push"));
    return pushes
      .flatMap(({ before, after }) => this.#between(before, after))
      .flatMap((id) => this.#secretsIn(id, true));
  }

  #indexChanged(): readonly Finding[] {
    const index = this.#readIndex();
    if (index === null) return [];
    const findings: Finding[] = [];
    const { staged, conflicts } = index;
    const key = conflicts.join("\n");
    if (this.#events.includes("merge-conflict") && key !== this.#conflicts) {
      const subject = `conflict ${this.#directory}`;
      if (conflicts.length === 0) findings.push({ type: "settled", subject });
      else {
        const trouble = { kind: "merge-conflict", repository: this.#directory, paths: conflicts.slice(0, 20) } as const;
        findings.push({ type: "found", subject, trouble });
      }
    }
    this.#conflicts = key;
    const before = this.#staged ?? new Map<string, string>();
    if (this.#events.includes("commit")) {
      for (const { path, id, bytes } of staged) {
        if (bytes < LARGE_BYTES || before.get(path) === id || isBinaryObject(this.#git, id) !== true) continue;
        const trouble = { kind: "large-binary", repository: this.#directory, path, bytes } as const;
        findings.push({ type: "found", subject: this.#binary(path), trouble });
      }
      const now = new Set(staged.map(({ path }) => path));
      for (const path of before.keys())
        if (!now.has(path)) findings.push({ type: "settled", subject: this.#binary(path) });
    }
    this.#staged = new Map(staged.map(({ path, id }) => [path, id]));
    return findings;
  }

  #binary(path: string): string {
    return `binary ${this.#directory} ${path}`;
  }

  #secretsIn(id: string, isPushed: boolean): readonly Finding[] {
    const commit = readCommit(this.#git, id);
    // A merge brings what its parents had.
    if (commit === null || commit.parents.length > 1) return [];
    for (const { path, id: blob } of changedBlobs(this.#git, commit, MAX_BLOBS)) {
      const object = readObject(this.#git, blob, MAX_OBJECT_BYTES);
      if (object?.type !== "blob" || object.data.subarray(0, 8_000).includes(0)) continue;
      const secret = findSecret(this.#redactor, object.data.toString());
      if (secret === null) continue;
      const where = { repository: this.#directory, commit: id, path, line: secret.line, found: secret.kinds, isPushed };
      const subject = `secret ${this.#directory} ${path}`;
      return [{ type: "found", subject, trouble: { kind: "secret-in-commit", ...where } }];
    }
    return [];
  }

  /** The commits behind `before`, up to `after`, the newest first. */
  #between(before: string, after: string): readonly string[] {
    const ids: string[] = [];
    let next: string | undefined = after;
    while (next !== undefined && next !== before && !NO_ID.test(next) && ids.length < MAX_COMMITS) {
      ids.push(next);
      next = readCommit(this.#git, next)?.parents[0];
    }
    return ids;
  }

  #readIndex() {
    const file = readGuarded(join(this.#git, "index"), MAX_INDEX_BYTES);
    if (file === null || file.size > MAX_INDEX_BYTES) return null;
    const config = readGuarded(join(this.#git, "config"), 65_536)?.bytes.toString() ?? "";
    return readIndex(file.bytes, /objectformat\s*=\s*sha256/i.test(config) ? 32 : 20);
  }

  #newLines(log: string): readonly LogLine[] {
    const from = this.#logs.get(log) ?? 0;
    if (!this.#logs.has(log) && this.#logs.size >= MAX_REMOTES) return [];
    const size = this.#sizeOf(log);
    this.#logs.set(log, size);
    if (size <= from) return [];
    const text = readGuarded(join(this.#git, "logs", log), MAX_LOG_BYTES, Math.max(from, size - MAX_LOG_BYTES));
    return (text?.bytes.toString() ?? "")
      .split("\n")
      .slice(-MAX_COMMITS - 1)
      .flatMap(parseLogLine);
  }

  #sizeOf(log: string): number {
    return readGuarded(join(this.#git, "logs", log), 0)?.size ?? 0;
  }
}

function parseLogLine(line: string): readonly LogLine[] {
  const found = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t]*\t(.*)$/.exec(line);
  const [, before = "", after = "", message = ""] = found ?? [];
  return found === null ? [] : [{ before, after, message }];
}
