/**
 * The home directory: where it is, and what lies where in it (design: Home).
 *
 * H1. `--home` wins over SURETY_HOME, and that over `~/.surety`. Finding a home creates nothing.
 * H2. Directories are 0700, files that hold secrets 0600; wider modes are narrowed when the home is opened.
 * H3. A home created for a command that did nothing can be removed again, as long as it is empty.
 * H4. A home that cannot be used is `home.unusable`. For commands that only read, a home that does not exist is
 *     `home.missing`, and is not created.
 * H5. A home whose database is gone is `store.missing`: a new one would hide the loss. The signing key is created once the
 *     first database is durable, so a key without a database means that it was lost.
 */
import { access, chmod, constants, lstat, mkdir, readdir, realpath, rmdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { BootError, systemCodeOf } from "./boot-error.ts";
import type { ReadVariable } from "./environment.ts";
import { assertUtf8 } from "./environment.ts";

export interface Home {
  readonly directory: string;
  readonly configFile: string;
  readonly envFile: string;
  readonly tokenFile: string;
  readonly keysDirectory: string;
  readonly signingKeyFile: string;
  /** Opens the stored secrets. */
  readonly secretsKeyFile: string;
  readonly database: string;
  /** Signed checkpoints, to compare the database with. */
  readonly checkpointFile: string;
  /** The sandbox root, unless the config names another. */
  readonly workspace: string;
  /** State of the file tools: the trash, marks, and what repeated edits must know. */
  readonly toolStateDirectory: string;
  /** Recently fetched pages; may be deleted at any time. */
  readonly pageCache: string;
  readonly agentsDirectory: string;
  readonly logsDirectory: string;
  /** What was written at `surety chat`. */
  readonly historyFile: string;
  /** Where the shell hook reports commands, while the shadow loop watches. */
  readonly shellReports: string;
}

const PRIVATE_DIRECTORY = 0o700;
/** Narrowing only removes bits: a home that its owner made read-only stays so. */
const OWNERS = 0o700;
const OTHERS = 0o077;

export function findHome(option: string | undefined, readVariable: ReadVariable): Home {
  const named = option ?? readVariable("SURETY_HOME");
  assertUtf8("SURETY_HOME", named ?? "");
  return homeAt(named === undefined ? join(homedir(), ".surety") : resolve(expandTilde(named)));
}

/**
 * Creates what is missing and makes the rest private; refuses a shared directory, so that a typo does not close /tmp to
 * other users. Returns the directories it created, in that order.
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

/** Removes a home that `openHome` just created (`made`), if it is still empty. */
export async function unmakeHome({ directory }: Home, made: readonly string[]): Promise<void> {
  if (!made.includes(directory)) return;
  try {
    for (const path of made) {
      const names = await readdir(path);
      if (names.some((name) => !made.includes(join(path, name)))) return;
    }
    for (const path of made.toReversed()) await rmdir(path);
  } catch (error) {
    // Another process has begun to use it.
    if (systemCodeOf(error) === null) throw error;
  }
}

/** For commands that only read. */
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
    "Choose another home with --home DIR or SURETY_HOME, or make this one a directory that you may write to.",
    { cause },
  );
}

function homeMissing(directory: string, cause: unknown): BootError {
  const hint = "Create it with surety start, or name another with --home DIR or SURETY_HOME.";
  return new BootError("home.missing", `there is no home at ${directory}`, hint, { cause });
}

function homeAt(directory: string): Home {
  return {
    directory,
    configFile: join(directory, "surety.json5"),
    envFile: join(directory, ".env"),
    tokenFile: join(directory, "token"),
    keysDirectory: join(directory, "keys"),
    secretsKeyFile: join(directory, "keys", "secrets-key"),
    signingKeyFile: join(directory, "keys", "signing-key.pem"),
    database: join(directory, "surety.db"),
    checkpointFile: join(directory, "checkpoints.jsonl"),
    workspace: join(directory, "workspace"),
    toolStateDirectory: join(directory, "annex"),
    pageCache: join(directory, "cache.db"),
    agentsDirectory: join(directory, "agents"),
    logsDirectory: join(directory, "logs"),
    historyFile: join(directory, "chat-history.jsonl"),
    shellReports: join(directory, "shell-reports.log"),
  };
}

/** Where an operator installs packages that are no part of Surety. */
export function packagesIn(homeDirectory: string): string {
  return join(homeDirectory, "packages");
}

/** The shell does not expand a quoted `~`. */
export function expandTilde(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

const STICKY = 0o1000;

/** Refuses a directory that is shared (right below `/`, sticky, or another user's) and holds other things than a home. */
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
    // Creating or opening it will report the reason.
    if (systemCodeOf(error) === null) throw error;
    return;
  }
  throw homeUnusable(directory, "it is a shared directory that holds other files");
}

/** Returns what it created. The mode of a link's target inside the home is left to the operator. */
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

/** Node's recursive mkdir never ends where the file system itself returns ENOENT, as /proc does. */
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

async function narrowFile(path: string): Promise<void> {
  try {
    const facts = await stat(path);
    // A link may lead to a device that others need.
    if (facts.isFile() && (facts.mode & OTHERS) !== 0) await chmod(path, facts.mode & OWNERS);
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

/** Call this before the database is opened: SQLite discards the log of an empty one. */
export async function assertDatabasePresent(home: Home): Promise<void> {
  if ((await bytesOf(home.signingKeyFile)) === null) return;
  const bytes = await bytesOf(home.database);
  if (bytes === null) throw lost(home, "store.missing", "is gone");
  if (bytes === 0) throw lost(home, "store.corrupt", "is empty");
}

/** Null when there is no such file. */
async function bytesOf(file: string): Promise<number | null> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw homeUnusable(file, `it cannot be read (${code ?? "unknown"})`, error);
  }
}

function lost(home: Home, code: string, what: string): BootError {
  return new BootError(
    code,
    `the database ${home.database} ${what}, and with it the history of this home`,
    `Restore a backup: surety restore FILE. To start over instead, move ${home.signingKeyFile} away: it signed the lost history.`,
  );
}
