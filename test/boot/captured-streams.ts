/** Streams that a test can read, and a terminal where it wants one. */
import { PassThrough } from "node:stream";
import type { OutputStream } from "../../src/adapters/terminal/progress-printer.ts";
import type { Streams } from "../../src/boot/output.ts";

export interface CapturedStreams extends Streams {
  readonly stdin: PassThrough & { isTTY: boolean };
  readonly written: () => { readonly stdout: string; readonly stderr: string };
}

export function capturedStreams(isTTY = false): CapturedStreams {
  const chunks = { stdout: "", stderr: "" };
  const capture = (name: keyof typeof chunks): OutputStream => ({
    isTTY,
    write(text) {
      chunks[name] += text;
    },
  });
  return {
    stdin: Object.assign(new PassThrough(), { isTTY }),
    stdout: capture("stdout"),
    stderr: capture("stderr"),
    written: () => ({ ...chunks }),
  };
}
