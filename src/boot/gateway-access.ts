/**
 * How commands reach the gateway of a home: its address (`gateway.url`) and its bearer token, from SURETY_TOKEN or made
 * once and stored in the home.
 *
 * T1. A token made here has 256 random bits. A token that is short or that no HTTP header can carry is an error, as in a
 *     damaged file. No error shows the token.
 * T2. The address is stale after a crash: the home's lock says whether a gateway runs. Who takes the lock withdraws the
 *     address at once, before it opens the home: another program may listen there by now.
 */
import { rmSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HomeLock } from "../adapters/store-sqlite/home-lock.ts";
import { lockHome } from "../adapters/store-sqlite/open-database.ts";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import { BootError } from "./boot-error.ts";
import { createSecret, readSecret, replaceFile } from "./durable-file.ts";
import type { ReadVariable } from "./environment.ts";
import type { Home } from "./home.ts";

const WHAT = "the token";
const TOKEN_BYTES = 32;
const VALID_TOKEN = /^[A-Za-z0-9._~+/-]{16,512}={0,2}$/;

export async function loadToken(home: Home, readVariable: ReadVariable, random: RandomBytes): Promise<string> {
  const given = readVariable("SURETY_TOKEN");
  if (given !== undefined) return checked(given, "SURETY_TOKEN", "Set it to 16 or more letters, digits or ._~+/-.");
  const file = home.tokenFile;
  const stored = (await readSecret(file, WHAT)) ?? (await createSecret(file, WHAT, `${newToken(random)}\n`, random));
  return checked(stored.trim(), file, "Delete the file to get a new token, or write your own into it.");
}

/** Null: the environment gives the token, so another file would change nothing. */
export function tokenWriter(home: Home, readVariable: ReadVariable, random: RandomBytes) {
  if (readVariable("SURETY_TOKEN") !== undefined) return null;
  return (token: string): Promise<void> => replaceFile(home.tokenFile, `${token}\n`, random);
}

function newToken(random: RandomBytes): string {
  return Buffer.from(random(TOKEN_BYTES)).toString("base64url");
}

function checked(token: string, source: string, hint: string): string {
  if (VALID_TOKEN.test(token)) return token;
  throw new BootError("token.unusable", `${source} holds no usable token`, hint);
}

const addressFile = ({ directory }: Home): string => join(directory, "gateway.url");

export function takeHome(home: Home): HomeLock {
  const lock = lockHome(home.directory);
  rmSync(addressFile(home), { force: true });
  return lock;
}

/** Not synced: after a power cut it would be stale. */
export async function announceAddress(home: Home, url: string): Promise<void> {
  const file = addressFile(home);
  await writeFile(`${file}.new`, `${url}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

export async function withdrawAddress(home: Home): Promise<void> {
  await rm(addressFile(home), { force: true });
}

/** Null when no gateway has announced itself. */
export async function findAddress(home: Home): Promise<string | null> {
  return (await readSecret(addressFile(home), "the gateway's address"))?.trim() ?? null;
}
