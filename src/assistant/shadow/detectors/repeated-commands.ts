/**
 * Commands that fail again and again (from the shell hook), or are repeated (from plain history, which has no exit codes).
 * Once the hook reports, history is not asked.
 */
import type { Finding } from "../trouble.ts";

const FAILURES = 3;
const REPEATS = 4;
const MAX_COMMAND_CHARS = 300;
/** Interrupted or suspended by hand. */
const BY_HAND = new Set([130, 146, 147, 148]);

export class RepeatedCommands {
  #failing: { readonly command: string; readonly directory: string; times: number } | null = null;
  #repeated: { readonly command: string; times: number } | null = null;
  #hasHook = false;

  /** A line of the hook: seconds, exit code, directory and command, with tabs between. */
  reported(line: string): Finding | null {
    const [, code = "", directory = "", ...rest] = line.split("\t");
    const command = rest.join(" ").trim().slice(0, MAX_COMMAND_CHARS);
    const exitCode = Number(code);
    if (!/^\d{1,3}$/.test(code) || command === "" || !directory.startsWith("/")) return null;
    this.#hasHook = true;
    const subject = `command ${directory} ${command}`;
    if (exitCode === 0) {
      if (this.#failing?.command === command) this.#failing = null;
      return { type: "settled", subject };
    }
    if (BY_HAND.has(exitCode)) return null;
    const isSame = this.#failing?.command === command && this.#failing.directory === directory;
    const times = isSame && this.#failing !== null ? this.#failing.times + 1 : 1;
    this.#failing = { command, directory, times };
    if (times !== FAILURES) return null;
    return { type: "found", subject, trouble: { kind: "failing-command", command, exitCode, times, directory } };
  }

  /** A line of bash's, zsh's or fish's history. */
  remembered(line: string): Finding | null {
    if (this.#hasHook) return null;
    const command = commandOf(line)?.slice(0, MAX_COMMAND_CHARS) ?? "";
    if (command === "") return null;
    const times = this.#repeated?.command === command ? this.#repeated.times + 1 : 1;
    this.#repeated = { command, times };
    if (times !== REPEATS) return null;
    return { type: "found", subject: `history ${command}`, trouble: { kind: "repeated-command", command, times } };
  }
}

/** Null: the line is about a command but is none. */
function commandOf(line: string): string | null {
  if (/^#\d{9,}$/.test(line) || /^ {2}(?:when|paths): |^ {4}- /.test(line)) return null;
  return line
    .replace(/^: \d+:\d+;/, "")
    .replace(/^- cmd: /, "")
    .trim();
}
