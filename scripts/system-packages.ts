/**
 * Programs of the system that tests, benches and fault trials need. Run before each of them: installs what is missing where
 * it may (as root, with apt), and says what to install where it may not; what needs it then fails by name.
 */
import { spawnSync } from "node:child_process";

/** What each is for, by the package that brings it. */
const NEEDED = [
  { program: "strace", package: "strace", purpose: "makes the gateway's system calls fail (F2, F4)" },
  { program: "bwrap", package: "bubblewrap", purpose: "contains the commands of shell.exec" },
];

const missing = NEEDED.filter(({ program }) => spawnSync(program, ["--version"]).error !== undefined);
const mayInstall = process.getuid?.() === 0 && spawnSync("apt-get", ["--version"]).error === undefined;

for (const { package: name, purpose } of missing) {
  const isInstalled = mayInstall && install(name);
  if (isInstalled) process.stdout.write(`installed ${name}: it ${purpose}\n`);
  else process.stderr.write(`missing ${name}: it ${purpose}; install it with your package manager\n`);
}

function install(name: string): boolean {
  const quietly = { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } } as const;
  const apt = (...words: readonly string[]): boolean => spawnSync("apt-get", words, quietly).status === 0;
  return apt("install", "-y", "-qq", name) || (apt("update", "-qq") && apt("install", "-y", "-qq", name));
}
