/** `fs.read_text`: the beginning of a text file, cut between two characters. `bytes` is the size of the file. */
import { Type } from "typebox";
import { defineTool, fieldOf } from "../define-tool.ts";
import { missing } from "./fs-failure.ts";
import { readUpTo, refuseHardLinks, textOf, withRegularFile } from "./regular-file.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import { inDirectory, type Workspace } from "./workspace.ts";
import { fileNames } from "./workspace-path.ts";

const DEFAULT_MAX_BYTES = 20_000;
/** The upper limit of `max_bytes`: every contract cuts longer results anyway. */
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
      const output = await inDirectory(workspace, parents, (directory) =>
        withRegularFile(directory, name, async (file) => {
          refuseHardLinks(file, shown);
          const limit = Math.min(maxBytes, MAX_BYTES);
          const content = wholeCharacters(await readUpTo(file, limit + 1, signal), limit);
          const { size } = file.stats;
          return { path: shown, text: textOf(content, shown), bytes: size, truncated: content.length < size };
        }),
      );
      await marks.assertLabelled(labels, names);
      if (output === null) throw missing(shown);
      return output;
    },
    summarize({ args, output }) {
      const path = fieldOf(output, "path") ?? fieldOf(args, "path") ?? "a file";
      const bytes = fieldOf(output, "bytes");
      return bytes === undefined ? `read ${path}` : `read ${path} (${bytes} bytes)`;
    },
  });
}

export function wholeCharacters(bytes: Buffer, limit: number): Buffer {
  if (bytes.length <= limit) return bytes;
  let end = limit;
  // A character has at most three continuation bytes. More of them are not UTF-8, and decoding reports that.
  for (let back = 0; back < 3 && isContinuation(bytes[end]); back += 1) end -= 1;
  return bytes.subarray(0, end);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
