/**
 * `fs.read_text`: the beginning of a text file, cut between two characters.
 *
 * 1. The text is the longest beginning of whole code points within `max_bytes`; `bytes` is the size of the file.
 * 2. Text is UTF-8 without NUL, a byte order mark included as it stands. Anything else is refused, not guessed at.
 * 3. A file with a second name is refused: the other name may be outside, and nothing tells (hard links).
 */
import { isUtf8 } from "node:buffer";
import { Type } from "typebox";
import { defineTool } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";
import { fieldOf } from "./field-of.ts";
import { readUpTo, withWorkspaceFile } from "./regular-file.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import type { Workspace } from "./workspace.ts";
import { fileNames } from "./workspace-path.ts";

const DEFAULT_MAX_BYTES = 20_000;
/** Asked for more, it reads this much: results this long are cut by every contract anyway. */
const MAX_BYTES = 1_048_576;

const parameters = Type.Object(
  {
    path: Type.String({ minLength: 1, description: "Relative to the workspace" }),
    max_bytes: Type.Optional(Type.Integer({ minimum: 1, default: DEFAULT_MAX_BYTES })),
  },
  { additionalProperties: false },
);

export function readTextTool(workspace: Workspace, marks: UntrustedMarks) {
  return defineTool({
    name: "fs.read_text",
    description: "Read the beginning of a text file in the workspace.",
    parameters,
    risk: "read_only",
    idempotency: "read_only",
    aliases: [
      { name: "fs.read", rename: { file_path: "path" } },
      { name: "file_read", rename: { file_path: "path" } },
    ],
    async plan({ path, max_bytes: maxBytes }) {
      const { names, shown } = fileNames(path);
      const target = `${workspace.root}/${shown}`;
      return {
        labels: await marks.labelsOf(names),
        shown: `Read up to ${Math.min(maxBytes, MAX_BYTES)} bytes of ${JSON.stringify(target)}`,
        plan: { targets: [target] },
      };
    },
    async run({ args: { path, max_bytes: maxBytes }, labels }, { signal }) {
      const { names, parents, name, shown } = fileNames(path);
      const output = await withWorkspaceFile(workspace, parents, name, async (file) => {
        const { nlink, size } = file.stats;
        if (nlink > 1) throw refused("policy.denied", shown, MANY_NAMES);
        const limit = Math.min(maxBytes, MAX_BYTES);
        const kept = wholeCharacters(await readUpTo(file, limit + 1, signal), limit);
        return { path: shown, text: textOf(kept, shown), bytes: size, truncated: kept.length < size };
      });
      await marks.assertLabelled(labels, names);
      if (output === null) throw refused("invalid.request", shown, NO_SUCH_FILE);
      return output;
    },
    summarize({ args, output }) {
      const path = fieldOf(output, "path") ?? fieldOf(args, "path") ?? "a file";
      const bytes = fieldOf(output, "bytes");
      return bytes === undefined ? `read ${path}` : `read ${path} (${bytes} bytes)`;
    },
  });
}

const NO_SUCH_FILE = "There is no such file; fs.list_dir shows what there is";
const MANY_NAMES = "It has more than one name (hard links), so it may belong outside the workspace; read a copy of it";

function textOf(bytes: Buffer, path: string): string {
  const text = isUtf8(bytes) ? bytes.toString() : null;
  if (text === null || text.includes("\0")) throw refused("invalid.request", path, "It is not a text file in UTF-8");
  return text;
}

/** As many of the first `limit` bytes as cut no character in two. */
function wholeCharacters(bytes: Buffer, limit: number): Buffer {
  if (bytes.length <= limit) return bytes;
  let end = limit;
  // A character has at most three bytes after its first. More of them are no UTF-8, and decoding will say so.
  for (let back = 0; back < 3 && isContinuation(bytes[end]); back += 1) end -= 1;
  return bytes.subarray(0, end);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function refused(code: "policy.denied" | "invalid.request", path: string, problem: string): ToolFailure {
  return new ToolFailure(code, `${problem}: ${JSON.stringify(path)}.`, { details: { path } });
}
