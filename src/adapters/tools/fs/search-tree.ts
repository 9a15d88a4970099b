/**
 * The search itself: down a tree, file by file, line by line. It reads synchronously, so it runs in a worker thread.
 *
 * No link is followed; only regular files with one name are opened. Skipped silently: `.git`, what .gitignore names, and
 * binary files. Counted in `skipped`: files that are too large, hard-linked, unreadable or removed meanwhile. Results,
 * their length, entries and depth are bounded; `truncated` says that there may be more. Results come in name order.
 */
import { lstatSync } from "node:fs";
import { ToolFailure } from "../tool-failure.ts";
import {
  assertNotMoved,
  closeDirectory,
  type DirectoryHandle,
  enterDirectory,
  entryPath,
  openRoot,
  sortedEntries,
  type Traversal,
} from "./directory-handle.ts";
import { errnoOf } from "./fs-failure.ts";
import { addRules, type IgnoreRules, isIgnored } from "./ignore-rules.ts";
import { type LineMatcher, lineMatcher, type Pattern } from "./line-matcher.ts";
import { globMatcher } from "./path-glob.ts";
import { readRegularSync } from "./regular-file.ts";

const MAX_ENTRIES = 200_000;
const MAX_DEPTH = 48;
const MAX_FILE_BYTES = 4_194_304;
const MAX_RULES_BYTES = 65_536;
const MAX_LINE_CHARS = 240;
/** How much of a long line is shown before the match. */
const LEAD_CHARS = 60;

export interface SearchRequest extends Pattern {
  readonly root: string;
  readonly traversal: Traversal;
  /** From the root down to where the search begins: a directory, or one file. */
  readonly names: readonly string[];
  /** Relative to where the search begins. */
  readonly glob: string;
  readonly maxResults: number;
}

/** `line` is 0 in a search for names. */
export interface Match {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export interface SearchResult {
  readonly matches: readonly Match[];
  readonly files: number;
  readonly skipped: number;
  readonly truncated: boolean;
}

export function searchTree(request: SearchRequest): SearchResult {
  return new TreeSearch(request).search();
}

class TreeSearch {
  readonly #request: SearchRequest;
  /** Null in a search for names. */
  readonly #matcher: LineMatcher | null;
  readonly #isWanted: (path: string) => boolean;
  readonly #matches: Match[] = [];
  #entries = 0;
  #files = 0;
  #skipped = 0;
  #isCut = false;

  constructor(request: SearchRequest) {
    this.#request = request;
    this.#matcher = request.pattern === "" ? null : lineMatcher(request);
    this.#isWanted = globMatcher(request.glob);
  }

  search(): SearchResult {
    const { root, traversal, names, maxResults } = this.#request;
    const handle = openRoot(root, traversal);
    try {
      this.#begin(handle, names, 0, null);
    } finally {
      closeDirectory(handle);
    }
    const matches = this.#matches.slice(0, maxResults);
    const truncated = this.#isCut || this.#matches.length > maxResults;
    return { matches, files: this.#files, skipped: this.#skipped, truncated };
  }

  /** Walks to where the search begins and collects the ignore rules on the way. */
  #begin(directory: DirectoryHandle, names: readonly string[], depth: number, above: IgnoreRules | null): void {
    const name = names[depth];
    const base = names
      .slice(0, depth)
      .map((each) => `${each}/`)
      .join("");
    if (name === undefined) {
      this.#walk(directory, base, above, 0);
      return;
    }
    const isLast = depth === names.length - 1;
    if (isLast && lstatSync(entryPath(directory, name), { throwIfNoEntry: false })?.isFile()) {
      this.#look(directory, name, `${base}${name}`);
      return;
    }
    const child = enterDirectory(directory, name);
    try {
      const rules = this.#rulesOf(directory, base, above);
      // An ignored directory that the call names is searched.
      this.#begin(child, names, depth + 1, isIgnored(rules, `${base}${name}/`) ? null : rules);
    } finally {
      closeDirectory(child);
    }
  }

  #walk(directory: DirectoryHandle, base: string, above: IgnoreRules | null, depth: number): void {
    const rules = this.#rulesOf(directory, base, above);
    const start = this.#request.names.map((name) => `${name}/`).join("").length;
    const entries = sortedEntries(directory, MAX_ENTRIES + 1 - this.#entries);
    this.#entries += entries.length;
    if (this.#entries > MAX_ENTRIES) this.#isCut = true;
    for (const entry of entries) {
      if (this.#isFull()) return;
      if (entry.name === ".git") continue;
      const path = `${base}${entry.name}`;
      if (entry.isDirectory() && !isIgnored(rules, `${path}/`)) {
        this.#enter(directory, entry.name, `${path}/`, rules, depth);
      } else if (entry.isFile() && this.#isWanted(path.slice(start)) && !isIgnored(rules, path)) {
        this.#look(directory, entry.name, path);
      }
    }
    assertNotMoved(directory);
  }

  #enter(parent: DirectoryHandle, name: string, base: string, rules: IgnoreRules | null, depth: number): void {
    if (depth === MAX_DEPTH) {
      this.#isCut = true;
      return;
    }
    const child = this.#attempt(() => enterDirectory(parent, name));
    if (child === null) {
      this.#skipped += 1;
      return;
    }
    try {
      this.#walk(child, base, rules, depth + 1);
    } finally {
      closeDirectory(child);
    }
  }

  #look(directory: DirectoryHandle, name: string, path: string): void {
    this.#files += 1;
    if (this.#matcher === null) {
      this.#matches.push({ path, line: 0, text: "" });
      return;
    }
    const isReadable = ({ size, nlink }: { size: number; nlink: number }) => size <= MAX_FILE_BYTES && nlink === 1;
    const content = this.#attempt(() => readRegularSync(directory, name, isReadable));
    if (content === null) this.#skipped += 1;
    else this.#matchLines(content, path, this.#matcher);
  }

  #matchLines(content: Buffer, path: string, { bytes, indexIn }: LineMatcher): void {
    if ((bytes !== null && !content.includes(bytes)) || content.includes(0)) return;
    const text = content.toString();
    let line = 0;
    for (let start = 0; start < text.length && !this.#isFull(); line += 1) {
      const lineEnd = text.indexOf("\n", start);
      const end = lineEnd === -1 ? text.length : lineEnd;
      const whole = text.slice(start, text[end - 1] === "\r" ? end - 1 : end);
      const index = indexIn(whole);
      if (index !== -1) this.#matches.push({ path, line: line + 1, text: excerpt(whole, index) });
      start = end + 1;
    }
  }

  #rulesOf(directory: DirectoryHandle, base: string, above: IgnoreRules | null): IgnoreRules | null {
    const content = this.#attempt(() =>
      readRegularSync(directory, ".gitignore", ({ size }) => size <= MAX_RULES_BYTES),
    );
    return content === null ? above : addRules(above, base, content.toString());
  }

  /** A file that was removed meanwhile or is not readable does not end the search. */
  #attempt<Result>(work: () => Result | null): Result | null {
    try {
      return work();
    } catch (error) {
      if (error instanceof ToolFailure || ["ENOENT", "ENOTDIR", "EACCES"].includes(errnoOf(error) ?? "")) return null;
      throw error;
    }
  }

  /** Looks for one match more than requested, to know whether there are more. */
  #isFull(): boolean {
    return this.#matches.length > this.#request.maxResults || this.#entries > MAX_ENTRIES;
  }
}

function excerpt(line: string, index: number): string {
  if (line.length <= MAX_LINE_CHARS) return line.toWellFormed();
  const start = Math.max(0, Math.min(index - LEAD_CHARS, line.length - MAX_LINE_CHARS));
  const end = start + MAX_LINE_CHARS;
  const shown = line.slice(start, end).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
  return `${start > 0 ? "…" : ""}${shown}${end < line.length ? "…" : ""}`.toWellFormed();
}
