/** Reads the log files of a home, also while a gateway writes them: whole lines only, in the order of their times. */
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import { LOG_LEVELS, type LogLevel } from "../../runtime/ports/log.ts";
import { nullIfMissing, readLogName } from "./rotating-file.ts";

export interface LoggedRecord {
  readonly level: LogLevel;
  readonly time: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

export class LogReader {
  readonly #directory: string;
  /** By inode, since files are renamed: how much of each was read. */
  readonly #read = new Map<number, number>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** What was written since the last call; at the first one, everything. */
  async next(): Promise<readonly LoggedRecord[]> {
    const records: LoggedRecord[] = [];
    for (const path of await this.#paths()) records.push(...(await this.#recordsOf(path)));
    return records.sort((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0));
  }

  /** Oldest first. A file that is renamed meanwhile is found under its next name, by inode. */
  async #paths(): Promise<readonly string[]> {
    const folders = (await readdir(this.#directory, { withFileTypes: true }).catch(nullIfMissing)) ?? [];
    const paths: string[] = [];
    for (const folder of folders.filter((entry) => entry.isDirectory())) {
      const directory = join(this.#directory, folder.name);
      const files = (await readdir(directory)).flatMap((file) => {
        const number = readLogName(file)?.number;
        return number === undefined ? [] : [{ path: join(directory, file), number }];
      });
      paths.push(...files.sort((one, other) => other.number - one.number).map(({ path }) => path));
    }
    return paths;
  }

  async #recordsOf(path: string): Promise<readonly LoggedRecord[]> {
    const facts = await stat(path).catch(nullIfMissing);
    if (facts === null || (this.#read.get(facts.ino) ?? 0) === facts.size) return [];
    const file = await open(path).catch(nullIfMissing);
    if (file === null) return [];
    await using _closed = file;
    const { ino, size } = await file.stat();
    const known = this.#read.get(ino) ?? 0;
    // The number of a removed file may be given to a new one.
    const start = known > size ? 0 : known;
    const bytes = Buffer.alloc(size - start);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    const end = bytes.subarray(0, bytesRead).lastIndexOf("\n") + 1;
    this.#read.set(ino, start + end);
    return bytes.toString("utf8", 0, end).split("\n").flatMap(readLine);
  }
}

/** Leaves out what is no record: a line may have been cut by a crash. */
function readLine(line: string): readonly LoggedRecord[] {
  const parsed = parseJson(line);
  const record = parsed.ok ? (parsed.value as Partial<LoggedRecord> | null) : null;
  const isRecord = typeof record?.time === "string" && typeof record.event === "string";
  return isRecord && LOG_LEVELS.some((level) => level === record.level) ? [record as LoggedRecord] : [];
}
