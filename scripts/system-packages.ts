/**
 * Programs of the system. Run before the gateway (`bwrap`), and before tests, benches and fault trials (all): installs what is
 * missing where it may (as root, with apt), and says so. Where it may not, it says what to install; of the programs that are
 * named to it that is left to the gateway, which says so itself. It never fails, and never waits long for a network.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** What each is for, by the package that brings it. */
const NEEDED = [
  { program: "strace", package: "strace", purpose: "makes the gateway's system calls fail (F2, F4)" },
  { program: "tmux", package: "tmux", purpose: "is the terminal that surety chat is tried in" },
  { program: "chromium", package: "chromium", purpose: "is the browser that the control UI is tried in" },
  { program: "bwrap", package: "bubblewrap", purpose: "contains the commands of shell.exec" },
];
/** Not PATH: the gateway does not look there either, and looking costs no process. */
const PLACES = ["/usr/bin", "/bin", "/usr/local/bin"];
/** Only the network may take so long: what changes the system is never interrupted. */
const NETWORK_MS = 30_000;
const OPTIONS = [
  "Acquire::http::Timeout=5",
  "Acquire::https::Timeout=5",
  "Acquire::Retries=0",
  "DPkg::Lock::Timeout=60",
];

const named = process.argv.slice(2);
const wanted = NEEDED.filter(({ program }) => named.length === 0 || named.includes(program));
const missing = wanted.filter(({ program }) => !PLACES.some((place) => existsSync(`${place}/${program}`)));
const mayInstall = process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");

for (const { package: name, purpose } of missing) {
  const isInstalled = mayInstall && install(name);
  if (isInstalled) process.stdout.write(`installed ${name}: it ${purpose}\n`);
  else if (named.length === 0) {
    process.stderr.write(`missing ${name}: it ${purpose}; install it with your package manager\n`);
  }
}

function install(name: string): boolean {
  const untilMs = performance.now() + NETWORK_MS;
  const fetched = (...words: readonly string[]): boolean =>
    apt(words, Math.max(1, Math.ceil(untilMs - performance.now())));
  const add = ["install", "-y", "-qq", "--no-install-recommends", name];
  const download = (): boolean => fetched(...add, "--download-only");
  return (download() || (fetched("update", "-qq") && download())) && apt([...add, "--no-download"]);
}

function apt(words: readonly string[], timeout?: number): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = OPTIONS.flatMap((option) => ["-o", option]);
  const quietly = { stdio: "ignore", env, ...(timeout === undefined ? {} : { timeout }) } as const;
  return spawnSync("/usr/bin/apt-get", [...options, ...words], quietly).status === 0;
}
