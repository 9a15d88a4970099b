/**
 * Reads files of watched directories, and no other: not through a link, however it got there, and not a file with a second
 * name (a hard link), which may belong elsewhere. What was opened is compared with where it should be, so a directory that is
 * swapped for a link meanwhile leads nowhere. For a worker thread, which may block.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync, realpathSync } from "node:fs";
import { dirname, sep } from "node:path";

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface GuardedFile {
  readonly bytes: Buffer;
  readonly size: number;
}

/** The bytes from `from` on, at most `maxBytes`; null: there is no such file, or it must not be read. */
export function readGuarded(path: string, maxBytes: number, from = 0): GuardedFile | null {
  let fd: number;
  try {
    // Opening a device has effects, and a link above it leads elsewhere.
    if (!lstatSync(path).isFile() || realpathSync(dirname(path)) !== dirname(path)) return null;
    fd = openSync(path, FLAGS);
  } catch {
    return null;
  }
  try {
    const stats = fstatSync(fd);
    const { size, nlink } = stats;
    if (!stats.isFile() || nlink !== 1 || pathOf(fd, path) !== path) return null;
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(maxBytes, size - from)));
    let length = 0;
    while (length < bytes.length) {
      const count = readSync(fd, bytes, length, bytes.length - length, from + length);
      if (count === 0) break;
      length += count;
    }
    return { bytes: bytes.subarray(0, length), size };
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

/** Null: larger than `maxBytes`, or no text. */
export function readGuardedText(path: string, maxBytes: number): string | null {
  const file = readGuarded(path, maxBytes + 1);
  if (file === null || file.bytes.length > maxBytes || file.bytes.includes(0)) return null;
  return file.bytes.toString();
}

/** Of the open file itself where the system tells. */
function pathOf(fd: number, path: string): string {
  return process.platform === "linux" ? readlinkSync(`/proc/self/fd/${fd}`) : realpathSync(path);
}

export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : `${directory}${sep}`);
}
