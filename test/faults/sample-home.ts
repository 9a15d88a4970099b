/** A home with a past, made by commands in this process: conversations, single runs, a file that was written, a token. */
import { main } from "../../src/boot/main.ts";
import { capturedStreams } from "../boot/captured-streams.ts";

export async function surety(home: string, ...words: readonly string[]) {
  const streams = capturedStreams();
  const code = await main(["--home", home, ...words], streams, () => undefined);
  return { code, ...streams.written() };
}

const SAID: readonly (readonly string[])[] = [
  ["run", "list files"],
  ["sessions", "new"],
  ["run", "--continue", "hello"],
  ["run", "--continue", "--approve", "fs.write_text", "write hello to a.txt"],
  ["tokens", "add", "phone", "--scope", "chat", "--owner", "web:anna"],
  ["run", "--continue", "read a.txt"],
  ["run", "read none.txt"],
  ["run", "--continue", "list files"],
];

export async function makeSampleHome(home: string): Promise<void> {
  for (const words of SAID) {
    const { code, stderr } = await surety(home, ...words);
    if (code !== 0) throw new Error(`surety ${words.join(" ")}: ${stderr}`);
  }
}
