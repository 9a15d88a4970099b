/**
 * Rewrites a file of lines, which only erasure does: beside its place, synced, then moved there. A reader finds the earlier
 * lines or the new ones; a kill leaves the earlier ones.
 */
import { createReadStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline";

/** `rewrite` returns what takes a line's place; null: nothing. A file without such lines stays as it is. */
export async function rewriteLines(path: string, rewrite: (line: string) => string | null): Promise<void> {
  if (!(await isFile(path))) return;
  const aside = `${path}.erasing`;
  let isChanged = false;
  {
    await using file = await open(aside, "w", 0o600);
    for await (const line of createInterface({
      input: createReadStream(path, "utf8"),
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      const next = rewrite(line);
      isChanged ||= next !== line;
      if (next !== null) await file.appendFile(`${next}\n`);
    }
    await file.sync();
  }
  if (isChanged) {
    await rename(aside, path);
    await syncDirectory(dirname(path));
  } else await rm(aside);
}

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}
