/**
 * The home: which directory, and what stands where in it (design: Home).
 *
 * H1. `--home` wins over SURETY_HOME, and that over `~/.surety`. Finding a home creates nothing.
 * H2. Directories are 0700, files that hold secrets 0600; what is wider is narrowed when the home is opened.
 * H3. A home that was made for nothing can be unmade: only what was made just now goes, and only while it is all empty.
 * H4. A home that cannot be used is one error, `home.unusable`, that says why and what to do; one that is not there, for
 *     whoever only wants to look, is `home.missing`, and it is not made.
 */
import { access, chmod, constants, lstat, mkdir, readdir, realpath, rmdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { BootError, systemCodeOf } from "./boot-error.ts";
import type { ReadVariable } from "./environment.ts";
import { assertNothingLost } from "./environment.ts";

export interface Home {
  readonly directory: string;
  readonly configFile: string;
  readonly envFile: string;
  readonly tokenFile: string;
  readonly keysDirectory: string;
  readonly signingKeyFile: string;
  readonly database: string;
  readonly lockDatabase: string;
  /** The sandbox root, unless the config names another. */
  readonly workspace: string;
  /** What the file tools keep for themselves: the trash, and what repeated edits must know. */
  readonly annex: string;
  /** Pages that were fetched not long ago; may be deleted at any time. */
  readonly pageCache: string;
  readonly agentsDirectory: string;
  readonly logsDirectory: string;
}

const PRIVATE_DIRECTORY = 0o700;
/** Narrowing takes bits away and gives none: a home that its owner made read-only stays so. */
const OWNERS = 0o700;
const OTHERS = 0o077;

export function findHome(option: string | undefined, readVariable: ReadVariable): Home {
  const named = option ?? readVariable("SURETY_HOME");
  assertNothingLost("SURETY_HOME", named ?? "");
  return homeAt(named === undefined ? join(homedir(), ".surety") : resolve(withoutTilde(named)));
}

/**
 * Makes what is missing; what is there is only made private, unless it is no home's: a slip of the pen must not close /tmp to
 * everybody. Returns the directories it made, in that order.
 */
export async function openHome(home: Home): Promise<readonly string[]> {
  const { directory, keysDirectory, workspace, agentsDirectory, logsDirectory } = home;
  await assertOwn(home);
  const made: string[] = [];
  for (const path of [directory, keysDirectory, workspace, agentsDirectory, logsDirectory]) {
    made.push(...(await openDirectory(path, path === directory)));
  }
  for (const path of [home.envFile, home.tokenFile]) await narrowFile(path);
  return made;
}

/** `made` is what `openHome` returned; a home that was there before stays as it is now. */
export async function unmakeHome({ directory }: Home, made: readonly string[]): Promise<void> {
  if (!made.includes(directory)) return;
  try {
    for (const path of made) {
      const names = await readdir(path);
      if (names.some((name) => !made.includes(join(path, name)))) return;
    }
    for (const path of made.toReversed()) await rmdir(path);
  } catch (error) {
    // Somebody else has begun to use it.
    if (systemCodeOf(error) === null) throw error;
  }
}

/** For commands that only look: makes nothing, changes nothing. */
export async function findExistingHome({ directory }: Home): Promise<void> {
  try {
    if ((await stat(directory)).isDirectory()) return;
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") throw homeMissing(directory, error);
    throw homeUnusable(directory, whyUnusable(error), error);
  }
  throw homeUnusable(directory, "a file is in the way");
}

export function homeUnusable(path: string, why: string, cause?: unknown): BootError {
  return new BootError(
    "home.unusable",
    `${path}: ${why}`,
    "Choose another home with --home DIR or SURETY_HOME, or make this one a directory you may write to.",
    { cause },
  );
}

function homeMissing(directory: string, cause: unknown): BootError {
  const hint = "surety start makes one; --home DIR or SURETY_HOME names another.";
  return new BootError("home.missing", `there is no home at ${directory}`, hint, { cause });
}

function homeAt(directory: string): Home {
  return {
    directory,
    configFile: join(directory, "surety.json5"),
    envFile: join(directory, ".env"),
    tokenFile: join(directory, "token"),
    keysDirectory: join(directory, "keys"),
    signingKeyFile: join(directory, "keys", "signing-key.pem"),
    database: join(directory, "surety.db"),
    lockDatabase: join(directory, "lock.db"),
    workspace: join(directory, "workspace"),
    annex: join(directory, "annex"),
    pageCache: join(directory, "cache.db"),
    agentsDirectory: join(directory, "agents"),
    logsDirectory: join(directory, "logs"),
  };
}

/** A quoted `~` reaches us as it is; a directory of that name is not what anybody meant. */
export function withoutTilde(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

const STICKY = 0o1000;

/** What many use (right beneath `/`, sticky, or somebody else's) and nothing of ours lies in is not made anybody's home. */
async function assertOwn({ directory, configFile, database, tokenFile }: Home): Promise<void> {
  try {
    const path = await realpath(directory);
    const { mode, uid } = await stat(path);
    const isShared = dirname(path) === "/" || (mode & STICKY) !== 0 || uid !== (process.getuid?.() ?? uid);
    if (!isShared) return;
    const ours = [configFile, database, tokenFile].map((file) => basename(file));
    const names = await readdir(path);
    if (names.length === 0 || names.some((name) => ours.includes(name))) return;
  } catch (error) {
    // What cannot be looked at is not there yet, or cannot be used: whoever makes or opens it says so.
    if (systemCodeOf(error) === null) throw error;
    return;
  }
  throw homeUnusable(directory, "it is used for other things");
}

/** Returns what had to be made. A link within the home is the operator's, and so is the mode of what it leads to. */
async function openDirectory(path: string, isHome: boolean): Promise<readonly string[]> {
  try {
    const made = await makeDirectory(path);
    const { mode } = await stat(path);
    const isOurs = isHome || !(await lstat(path)).isSymbolicLink();
    if ((mode & OTHERS) !== 0 && isOurs) await chmod(path, mode & OWNERS);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return made;
  } catch (error) {
    throw homeUnusable(path, whyUnusable(error), error);
  }
}

/** Node's own recursive mkdir tries for ever where the file system itself says ENOENT, as /proc does. */
async function makeDirectory(path: string): Promise<readonly string[]> {
  try {
    await mkdir(path, PRIVATE_DIRECTORY);
    return [path];
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "EEXIST" && (await stat(path)).isDirectory()) return [];
    const parent = dirname(path);
    if (code !== "ENOENT" || (await exists(parent))) throw error;
    return [...(await makeDirectory(parent)), ...(await makeDirectory(path))];
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** The file was written by hand, perhaps readable by all. */
async function narrowFile(path: string): Promise<void> {
  try {
    const { mode } = await stat(path);
    if ((mode & OTHERS) !== 0) await chmod(path, mode & OWNERS);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return;
    throw homeUnusable(path, whyUnusable(error), error);
  }
}

function whyUnusable(error: unknown): string {
  const code = systemCodeOf(error);
  switch (code) {
    case "EEXIST":
    case "ENOTDIR":
      return "a file is in the way";
    case "EACCES":
    case "EPERM":
      return "no permission";
    case "EROFS":
      return "the file system is read-only";
    case "ENOSPC":
    case "EDQUOT":
      return "the disk is full";
    case null:
      throw error;
    default:
      return `it cannot be used (${code})`;
  }
}

/**
 * A home that had a database and has none any more. None is made in its place without a word: every run would be gone.
 *
 * L1. The signing key is made when the first database is durable: where there is a key, there was a database. What a kill
 *     left half made at the first start has no key beside it yet.
 * L2. It is told before anybody opens the database: SQLite throws away the log of an empty one.
 */

export async function assertDatabaseKept(home: Home): Promise<void> {
  if ((await bytesOf(home.signingKeyFile)) === null) return;
  const bytes = await bytesOf(home.database);
  if (bytes === null) throw lost(home, "store.missing", "is gone");
  if (bytes === 0) throw lost(home, "store.corrupt", "is empty");
}

/** Null where there is no such file. */
async function bytesOf(file: string): Promise<number | null> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw homeUnusable(file, `it cannot be looked at (${code ?? "unknown"})`, error);
  }
}

function lost(home: Home, code: string, what: string): BootError {
  return new BootError(
    code,
    `${home.database} ${what}, and with it what this home did`,
    `Restore a backup: surety restore FILE. To start afresh instead, move ${home.signingKeyFile} away: it signed what is lost.`,
  );
}
