/** Where the gateway of a home listens, for commands that run beside it. Stale after a crash: the lock says who is there. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import { systemCodeOf } from "./boot-error.ts";
import { replaceFile } from "./durable-file.ts";
import type { Home } from "./home.ts";

const addressFile = ({ directory }: Home): string => join(directory, "gateway.url");

export async function announceAddress(home: Home, url: string, random: RandomBytes): Promise<void> {
  await replaceFile(addressFile(home), `${url}\n`, random);
}

export async function withdrawAddress(home: Home): Promise<void> {
  await rm(addressFile(home), { force: true });
}

/** Null when no gateway has said where it is. */
export async function findAddress(home: Home): Promise<string | null> {
  try {
    return (await readFile(addressFile(home), "utf8")).trim();
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return null;
    throw error;
  }
}
