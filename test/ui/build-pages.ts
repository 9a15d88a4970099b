/** The tests look at what is in the repository now: the pages are built if anything of them is newer than the last build. */
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";

const ROOT = new URL("../../", import.meta.url);
const SOURCES = ["ui/", "src/kernel/", "src/assistant/operations.ts"];

export function setup(): void {
  if (newestIn("dist/ui/files.json") > Math.max(...SOURCES.map(newestIn))) return;
  // In a process of its own: within vitest, React would be built for development.
  const words = ["node_modules/vite/bin/vite.js", "build", "--config", "ui/vite.config.ts", "--logLevel", "warn"];
  const env = { ...process.env, NODE_ENV: "production" };
  const { status } = spawnSync(process.execPath, words, { cwd: ROOT, env, stdio: "inherit" });
  if (status !== 0) throw new Error("the control UI could not be built");
}

/** When anything at or below it was changed; 0 if there is nothing. */
function newestIn(path: string): number {
  const at = new URL(path, ROOT);
  const found = statSync(at, { throwIfNoEntry: false });
  if (found === undefined || !found.isDirectory()) return found?.mtimeMs ?? 0;
  const names = readdirSync(at, { recursive: true, encoding: "utf8" });
  return Math.max(...names.map((name) => statSync(new URL(name, at)).mtimeMs));
}
