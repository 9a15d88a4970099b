/**
 * What was written at `surety chat`, for the up key: the last messages, one JSON string a line, for this user's eyes alone.
 * A line that cannot be read is left out: the file is a convenience, and losing it loses nothing.
 */
import { parseJson } from "../kernel/vocabulary/parse-json.ts";
import { replaceFile } from "./durable-file.ts";
import type { Home } from "./home.ts";
import { readBoundedFile, UnreadableFile } from "./read-bounded-file.ts";
import { systemRandomness } from "./system-randomness.ts";

const MAX_MESSAGES = 500;
/** A longer message is not kept: it is in the conversation. */
const MAX_MESSAGE_CHARS = 2_000;
const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** Oldest first. */
export async function readPromptHistory({ historyFile }: Home): Promise<readonly string[]> {
  const text = await readBoundedFile(historyFile, MAX_FILE_BYTES).catch((error: unknown) => {
    if (error instanceof UnreadableFile) return null;
    throw error;
  });
  const lines = text?.toString("utf8").split("\n") ?? [];
  return lines.flatMap((line) => {
    const parsed = parseJson(line);
    return parsed.ok && typeof parsed.value === "string" ? [parsed.value] : [];
  });
}

/** Returns the messages with this one; another terminal may have added some meanwhile. */
export async function addToPromptHistory(home: Home, message: string): Promise<readonly string[]> {
  const before = await readPromptHistory(home);
  if (message.length > MAX_MESSAGE_CHARS || before.at(-1) === message) return before;
  const messages = [...before, message].slice(-MAX_MESSAGES);
  await write(home, messages);
  return messages;
}

/** Those that were forgotten. */
export async function removeFromPromptHistory(home: Home, isGone: (message: string) => boolean): Promise<void> {
  const before = await readPromptHistory(home);
  const messages = before.filter((message) => !isGone(message));
  if (messages.length < before.length) await write(home, messages);
}

async function write({ historyFile }: Home, messages: readonly string[]): Promise<void> {
  const text = messages.map((each) => `${JSON.stringify(each)}\n`).join("");
  await replaceFile(historyFile, text, systemRandomness);
}
