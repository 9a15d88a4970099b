/** A real terminal of 80 x 24, which a test types into and reads like a person does. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished, vi } from "vitest";

const DEADLINE = { timeout: 20_000, interval: 40 };
const call = promisify(execFile);

export interface Tmux {
  /** Text is typed as it is; keys have tmux's names. */
  type(text: string): Promise<void>;
  press(...keys: readonly string[]): Promise<void>;
  /** The rows of the screen, as soon as they show this. */
  shows(what: string | RegExp): Promise<string>;
}

/** Runs the words of a command line, and the screen stays when it has ended. */
export async function openTmux(words: readonly string[], variables: Readonly<Record<string, string>>): Promise<Tmux> {
  const directory = await mkdtemp("/tmp/surety-tmux-");
  const socket = join(directory, "socket");
  const tmux = async (...words: readonly string[]): Promise<string> =>
    (await call("tmux", ["-S", socket, "-f", "/dev/null", ...words])).stdout;
  onTestFinished(async () => {
    await tmux("kill-server").catch(() => {});
    await rm(directory, { recursive: true, force: true });
  });
  const given = Object.entries({ ...variables, LANG: "C.UTF-8" }).flatMap(([name, value]) => [
    "-e",
    `${name}=${value}`,
  ]);
  const command = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  await tmux("-u", "new-session", "-d", "-x", "80", "-y", "24", ...given, `${command}; echo "exit code $?"; exec cat`);
  const screen = async (): Promise<string> => (await tmux("capture-pane", "-p")).trimEnd();
  return {
    type: async (text) => {
      await tmux("send-keys", "-l", text);
    },
    press: async (...keys) => {
      await tmux("send-keys", ...keys);
    },
    shows: (what) =>
      vi.waitFor(async () => {
        const rows = await screen();
        const isShown = typeof what === "string" ? rows.includes(what) : what.test(rows);
        if (!isShown) throw new Error(`the terminal does not show ${String(what)}, but:\n${rows}`);
        return rows;
      }, DEADLINE),
  };
}

/** What differs between equal screens: ids, durations, digests, the place of the home. Widths stay. */
export function normalised(screen: string): string {
  return screen
    .replace(/\b(run|session|apr)_[0-9a-f]{24}/g, (_, kind: string) => `${kind}_${"0".repeat(24)}`)
    .replace(/\b[0-9a-f]{64}\b/g, "0".repeat(64))
    .replace(/surety-chat-\w{6}/g, "surety-chat-XXXXXX")
    .replace(/: (queued|running), 0 tool calls so far/, ": running, 0 tool calls so far")
    .replace(/\b\d{3,} tokens/g, "N tokens")
    .replace(/\b\d+(\.\d)? m?s\b/g, "N ms")
    .concat("\n");
}
