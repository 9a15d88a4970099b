/**
 * Descriptors this process was started with and would hand on to every child: Node closes none that it did not open, and
 * one that leads to a directory of the host would lead out of a sandbox.
 *
 * D1. Node opens its own so that they end at the next program; what does not was there before us, and stays the same.
 */
import { readdirSync, readFileSync } from "node:fs";

const CLOSED_ON_EXEC = 0o2000000;

export function strayDescriptors(): readonly number[] {
  return readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && isHandedOn(fd));
}

function isHandedOn(fd: number): boolean {
  try {
    const flags = /^flags:\t([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // Closed meanwhile, as the one was that this directory was read through.
    return false;
  }
}
