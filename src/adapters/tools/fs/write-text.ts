/**
 * `fs.write_text`: writes a whole text file atomically. The plan binds the directory the write starts from and the hash
 * of the replaced file. The approver sees the whole text, each line behind a bar, so that the text cannot imitate the
 * frame around it. A repeat after a crash succeeds if the text is already in place (`keyed`). A clean text removes the
 * file's mark (`untrusted-marks.ts`).
 */
import { relative, sep } from "node:path";
import { Type } from "typebox";
import { hashBytes } from "../../../kernel/vocabulary/hash.ts";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import type { CallContext, Planned, Reversal } from "../../../runtime/ports/toolbox.ts";
import { type ArgumentsOf, defineTool, fieldOf } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";
import { atomicWrite, isAlreadyWritten, temporaryNameOf } from "./atomic-write.ts";
import { identityOf, isDirectoryOf } from "./directory-handle.ts";
import { changedSince, pathFailure, withPathErrors } from "./fs-failure.ts";
import { countInvisible } from "./invisible-characters.ts";
import { type ExistingFile, inspectFile, isText } from "./regular-file.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import { createDirectories, inDirectory, inNearestDirectory, type Workspace } from "./workspace.ts";
import { fileNames } from "./workspace-path.ts";

const MAX_TEXT_BYTES = 1_048_576;
/** Of a replaced text that an approver can compare. */
const MAX_COMPARED_BYTES = 65_536;

const parameters = Type.Object(
  {
    path: Type.String({ minLength: 1, description: "Relative to the workspace" }),
    text: Type.String({ description: "The whole file" }),
    overwrite: Type.Optional(Type.Boolean({ default: false })),
  },
  { additionalProperties: false },
);

type WriteArguments = ArgumentsOf<typeof parameters>;

const aliased = { rename: { file_path: "path", content: "text" } } as const;

export function writeTextTool(workspace: Workspace, marks: UntrustedMarks) {
  return defineTool({
    name: "fs.write_text",
    description: "Write a text file in the workspace. Replaces a file only with overwrite.",
    parameters,
    risk: "side_effect",
    idempotency: "keyed",
    aliases: [
      { name: "fs.write", ...aliased },
      { name: "file_write", ...aliased },
    ],
    plan: (args) => planWrite(workspace, args),
    run: ({ args, plan }, context) => runWrite({ workspace, marks }, args, plan, context),
    summarize({ args, output }) {
      const path = fieldOf(output, "path") ?? fieldOf(args, "path") ?? "a file";
      const text = fieldOf(args, "text");
      return typeof text === "string" ? `wrote ${linesOf(text).length} line(s) to ${path}` : `wrote ${path}`;
    },
  });
}

function planWrite(workspace: Workspace, args: WriteArguments) {
  const { overwrite } = args;
  const { parents, name, shown } = fileNames(args.path);
  const content = contentOf(args.text);
  const target = `${workspace.root}/${shown}`;
  return inNearestDirectory(workspace, parents, async (directory, missing) => {
    const present = missing.length > 0 ? null : await inspectFile(directory, name);
    // A crash after the write leaves this very text in place: then `run` decides.
    if (present !== null && !overwrite && present.hash !== hashBytes(content)) throw taken(shown);
    return {
      labels: USER_LABELS,
      reversal: reversalOf(present, content),
      ...comparedText(present),
      shown: showWrite(target, args, present, missing),
      plan: {
        cwd: { path: directory.path, ...identityOf(directory) },
        scriptHashes: present !== null && overwrite ? [present.hash] : [],
        targets: [target],
      },
    };
  });
}

function reversalOf(present: ExistingFile | null, content: Buffer): Reversal {
  if (present === null) return { kind: "reversible", how: "the new file can be deleted" };
  if (present.hash === hashBytes(content)) return { kind: "reversible", how: "the file has this text already" };
  return { kind: "irreversible", how: "the replaced content is not kept" };
}

function comparedText(present: ExistingFile | null): Pick<Planned, "replaces"> {
  if (present === null || present.content.length > MAX_COMPARED_BYTES || !isText(present.content)) return {};
  return { replaces: present.content.toString() };
}

function contentOf(text: string): Buffer {
  const content = Buffer.from(text);
  const problem = text.includes("\0")
    ? "contains a NUL character, which a text file cannot hold"
    : content.length > MAX_TEXT_BYTES
      ? `has ${content.length} bytes, more than ${MAX_TEXT_BYTES}: write several files`
      : null;
  if (problem !== null) throw new ToolFailure("tool.input_invalid", `fs.write_text: text ${problem}.`);
  return content;
}

function showWrite(
  target: string,
  { text, overwrite }: WriteArguments,
  present: ExistingFile | null,
  missing: readonly string[],
): string {
  const headline = overwrite ? "Replace a file" : "Write a file that already has this text";
  const invisible = countInvisible(text);
  return [
    present === null ? "Write a new file" : headline,
    `  path:     ${JSON.stringify(target)}`,
    `  bytes:    ${Buffer.byteLength(text)}`,
    present === null ? null : `  replaces: ${present.content.length} bytes, sha256 ${present.hash}`,
    missing.length === 0 ? null : `  creates:  the directories ${JSON.stringify(missing.join("/"))}`,
    invisible === 0 ? null : `  warning:  ${invisible} control or invisible characters in the text`,
    "  the whole text, each line behind a bar:",
    ...text.split("\n").map((line) => `| ${line}`),
  ]
    .filter((line) => line !== null)
    .join("\n");
}

function runWrite(
  { workspace, marks }: { readonly workspace: Workspace; readonly marks: UntrustedMarks },
  { path, text, overwrite }: WriteArguments,
  { cwd, scriptHashes: [replaced] }: Planned["plan"],
  context: CallContext,
) {
  const { names, parents, name, shown } = fileNames(path);
  const content = contentOf(text);
  const depth = cwd === null ? 0 : relative(workspace.root, cwd.path).split(sep).filter(Boolean).length;
  return inDirectory(workspace, parents.slice(0, depth), async (start) => {
    if (!isDirectoryOf(cwd, start)) throw changedSince(shown, context);
    await marks.beforeWrite(names, context);
    return await createDirectories(start, parents.slice(depth), (directory) =>
      withPathErrors(shown, async () => {
        const hash = hashBytes(content);
        if (context.isRepeat && (await isAlreadyWritten(directory, name, hash, context))) {
          return { path: shown, bytes: content.length, created: !overwrite };
        }
        if (!context.mayAct) throw changedSince(shown, context);
        if (replaced !== undefined && (await inspectFile(directory, name))?.hash !== replaced)
          throw changedSince(shown, context);
        const mode = replaced === undefined ? "add" : "replace";
        const write = { name, temporaryName: temporaryNameOf(context), content, mode } as const;
        if (!(await atomicWrite(directory, write, context.signal))) {
          // Refuses links and devices itself.
          await inspectFile(directory, name);
          throw overwrite ? changedSince(shown, context) : taken(shown);
        }
        const isOurs = async () => (await inspectFile(directory, name))?.hash === hash;
        await marks.afterReplace(names, context, isOurs);
        return { path: shown, bytes: content.length, created: mode === "add" };
      }),
    );
  });
}

function taken(path: string): ToolFailure {
  return pathFailure("invalid.request", path, "already exists. Choose another name, or set overwrite to replace it");
}

function linesOf(text: string): readonly string[] {
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}
