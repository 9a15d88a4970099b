/**
 * Finds notes to remember; reads only. In an OpenClaw or Clawdbot workspace these are `MEMORY.md` and the daily notes
 * `memory/YYYY-MM-DD.md`, elsewhere all Markdown files of the directory. Links are not followed, and hidden directories and
 * `node_modules` are passed over.
 */
import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";

export interface FoundNote {
  /** Below the directory. */
  readonly path: string;
  /** Of a daily note. */
  readonly day: string | null;
  read(): Promise<string>;
}

export interface FoundNotes {
  readonly kind: "markdown" | "openclaw";
  readonly notes: readonly FoundNote[];
  /** Files that are too large to be notes. */
  readonly bad: readonly string[];
}

const MAX_BYTES = 4 * 1024 * 1024;
const MEMORY_FILES = ["MEMORY.md", "memory.md"];
const MEMORY_DIRECTORY = "memory";
const DAY = /^(\d{4}-\d{2}-\d{2})/;

/** Null when there is no such directory. */
export async function findNotes(directory: string): Promise<FoundNotes | null> {
  const own = await lstat(directory).catch(() => null);
  if (!own?.isDirectory()) return null;
  const names = await readdir(directory);
  const memoryFile = MEMORY_FILES.find((name) => names.includes(name));
  const daily = names.includes(MEMORY_DIRECTORY) ? await filesIn(join(directory, MEMORY_DIRECTORY)) : [];
  const isWorkspace = memoryFile !== undefined || daily.some((file) => DAY.test(basename(file)));
  const files = isWorkspace
    ? [...(memoryFile === undefined ? [] : [join(directory, memoryFile)]), ...daily]
    : await filesIn(directory);
  const notes: FoundNote[] = [];
  const bad: string[] = [];
  for (const file of files) {
    const path = relative(directory, file);
    const status = await lstat(file);
    if (!status.isFile()) continue;
    if (status.size > MAX_BYTES) bad.push(path);
    else notes.push({ path, day: DAY.exec(basename(file))?.[1] ?? null, read: () => readFile(file, "utf8") });
  }
  return { kind: isWorkspace ? "openclaw" : "markdown", notes, bad };
}

/** In a fixed order. */
async function filesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(directory, entry.name);
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    if (entry.isDirectory()) found.push(...(await filesIn(path)));
    else if (entry.isFile() && /\.(?:md|markdown)$/i.test(entry.name)) found.push(path);
  }
  return found;
}
