/**
 * The search itself: down a tree, file by file, line by line. It reads synchronously, so it runs in a worker thread. No
 * link is followed. Skipped silently: `.git`, what .gitignore names, and binary files. Counted in `skipped`: files that
 * are too large, hard-linked, unreadable or removed meanwhile. `truncated` says that there may be more.
 */
import { lstatSync } from "node:fs";
import ignore, { type Ignore } from "ignore";
import { ToolFailure } from "../tool-failure.ts";
import {
  assertNotMoved,
  type DirectoryHandle,
  enterDirectory,
  entryPath,
  openRoot,
  sortedEntries,
  type Traversal,
} from "./directory-handle.ts";
import { errnoOf } from "./fs-failure.ts";
import { type LineMatcher, lineMatcher, type Pattern } from "./line-matcher.ts";
import { globMatcher } from "./path-glob.ts";
import { readRegularSync } from "./regular-file.ts";

const MAX_ENTRIES = 200_000;
const MAX_DEPTH = 48;
const MAX_FILE_BYTES = 4_194_304;
const MAX_RULES_BYTES = 65_536;
const MAX_LINE_CHARS = 240;
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

/** The rules of one .gitignore file. Deeper rules win. */
interface IgnoreRules {
  /** The directory of the rules, relative to the workspace: empty, or with a slash at its end. */
  readonly base: string;
  readonly rules: Ignore;
  readonly above: IgnoreRules | null;
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
    using handle = openRoot(root, traversal);
    this.#begin(handle, names, 0, null);
    const matches = this.#matches.slice(0, maxResults);
    const truncated = this.#isCut || this.#matches.length > maxResults;
    return { matches, files: this.#files, skipped: this.#skipped, truncated };
  }

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
    using child = enterDirectory(directory, name);
    const rules = this.#rulesOf(directory, base, above);
    // An ignored directory that the call names is searched.
    this.#begin(child, names, depth + 1, isIgnored(rules, `${base}${name}/`) ? null : rules);
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
    using child = this.#attempt(() => enterDirectory(parent, name));
    if (child === null) this.#skipped += 1;
    else this.#walk(child, base, rules, depth + 1);
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
    return content === null ? above : { base, rules: ignore().add(content.toString()), above };
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

/** `path` is relative to the workspace; a directory's ends with a slash. */
function isIgnored(rules: IgnoreRules | null, path: string): boolean {
  for (let level = rules; level !== null; level = level.above) {
    const { ignored, unignored } = verdictOf(level, path);
    if (ignored || unignored) return ignored;
  }
  return false;
}

/** A rule that cannot be parsed ignores nothing, since the files come from the workspace. */
function verdictOf({ base, rules }: IgnoreRules, path: string) {
  try {
    return rules.test(path.slice(base.length));
  } catch (error) {
    if (error instanceof SyntaxError) return { ignored: false, unignored: false };
    throw error;
  }
}
