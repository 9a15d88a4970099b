/**
 * `fs.write_text`: a whole text file, put into its place at once.
 *
 * 1. Without `overwrite` nothing that exists is changed; with it, only the content that was there at planning.
 * 2. The plan holds the directory the write starts from, by device and inode, and the hash of what is replaced: another
 *    directory, another content or a link in their place changes the plan, and a write that was planned is refused.
 * 3. An approver is shown the path, the size, what is replaced and every byte of the text, each line behind a bar, so
 *    that no text can pass for what stands around it.
 * 4. Repeated after a crash, a text that is in its place already is a success (`keyed`).
 * 5. What an untrusted context writes is marked before anything is made; a clean text takes the mark off
 *    (`untrusted-marks.ts`).
 */
import { relative, sep } from "node:path";
import { Type } from "typebox";
import { hashBytes } from "../../../kernel/vocabulary/hash.ts";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import type { CallContext, Planned, Reversal } from "../../../runtime/ports/toolbox.ts";
import { defineTool } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";
import { placeFile, removeIfThere } from "./atomic-write.ts";
import { temporaryNameOf } from "./call-key.ts";
import { type DirectoryHandle, entryPath, identityOf, shownPath } from "./directory-handle.ts";
import { fieldOf } from "./field-of.ts";
import { changedSince, naming } from "./fs-failure.ts";
import { inspectFile, type PresentFile } from "./regular-file.ts";
import { countUnseen } from "./unseen-characters.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import { inDirectory, inMadeDirectory, inNearestDirectory, syncDirectory, type Workspace } from "./workspace.ts";
import { fileNames } from "./workspace-path.ts";

const MAX_TEXT_BYTES = 1_048_576;

const parameters = Type.Object(
  {
    path: Type.String({ minLength: 1, description: "Relative to the workspace" }),
    text: Type.String({ description: "The whole file" }),
    overwrite: Type.Optional(Type.Boolean({ default: false })),
  },
  { additionalProperties: false },
);

interface WriteArguments {
  readonly path: string;
  readonly text: string;
  readonly overwrite: boolean;
}

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

function planWrite(workspace: Workspace, { path, text, overwrite }: WriteArguments) {
  const { parents, name } = fileNames(path);
  const content = contentOf(text);
  return inNearestDirectory(workspace, parents, async (directory, missing) => {
    const present = missing.length > 0 ? null : await inspectFile(directory, name);
    // The same text may be there because a crash came between writing it and saying so: then `run` decides.
    if (present !== null && !overwrite && present.hash !== hashBytes(content)) throw taken(shownPath(directory, name));
    const target = [workspace.root, ...parents, name].join("/");
    return {
      labels: USER_LABELS,
      reversal: reversalOf(present, content),
      shown: showWrite({ target, text, bytes: content.length, present, missing, overwrite }),
      plan: {
        cwd: { path: directory.path, ...identityOf(directory) },
        scriptHashes: present !== null && overwrite ? [present.hash] : [],
        targets: [target],
      },
    };
  });
}

function reversalOf(present: PresentFile | null, content: Buffer): Reversal {
  if (present === null) return { kind: "reversible", how: "the new file can be deleted" };
  if (present.hash === hashBytes(content)) return { kind: "reversible", how: "the file has this text already" };
  return { kind: "irreversible", how: "what is replaced is not kept" };
}

function contentOf(text: string): Buffer {
  const content = Buffer.from(text);
  const problem = text.includes("\0")
    ? "holds a NUL character, which no text file does"
    : content.length > MAX_TEXT_BYTES
      ? `has ${content.length} bytes, more than ${MAX_TEXT_BYTES}: write several files`
      : null;
  if (problem !== null) throw new ToolFailure("tool.input_invalid", `fs.write_text: text ${problem}.`);
  return content;
}

function showWrite(write: {
  readonly target: string;
  readonly text: string;
  readonly bytes: number;
  readonly present: PresentFile | null;
  readonly missing: readonly string[];
  readonly overwrite: boolean;
}): string {
  const { target, text, bytes, present, missing, overwrite } = write;
  const headline = overwrite ? "Replace a file" : "Write a file that is there already, with this very text";
  const unseen = countUnseen(text);
  return [
    present === null ? "Write a new file" : headline,
    `  path:     ${JSON.stringify(target)}`,
    `  bytes:    ${bytes}`,
    present === null ? null : `  replaces: ${present.bytes} bytes, sha256 ${present.hash}`,
    missing.length === 0 ? null : `  makes:    the directories ${JSON.stringify(missing.join("/"))}`,
    unseen === 0 ? null : `  beware:   ${unseen} control or invisible characters in the text`,
    "  text, whole, each line behind a bar:",
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
  const { parents, name } = fileNames(path);
  const content = contentOf(text);
  const shown = [...parents, name].join("/");
  const depth = cwd === null ? 0 : relative(workspace.root, cwd.path).split(sep).filter(Boolean).length;
  return inDirectory(workspace, parents.slice(0, depth), async (start) => {
    const { device, inode } = identityOf(start);
    if (device !== cwd?.device || inode !== cwd.inode) throw changedSince(shown, context);
    await marks.beforeWrite([...parents, name], context);
    return await inMadeDirectory(start, parents.slice(depth), (directory) =>
      naming(shown, async () => {
        const temporaryName = temporaryNameOf(context);
        if (context.isRepeat && (await isInPlace(directory, { name, temporaryName, content }))) {
          return { path: shown, bytes: content.length, created: !overwrite };
        }
        if (!context.mayAct) throw changedSince(shown, context);
        if (replaced !== undefined && (await inspectFile(directory, name))?.hash !== replaced)
          throw changedSince(shown, context);
        const mode = replaced === undefined ? "add" : "replace";
        const isPlaced = await placeFile(directory, { name, temporaryName, content, mode }, context.signal);
        if (!isPlaced) throw await obstacle(directory, name, overwrite, context);
        const isOurs = async () => (await inspectFile(directory, name))?.hash === hashBytes(content);
        await marks.afterReplace([...parents, name], context, isOurs);
        return { path: shown, bytes: content.length, created: mode === "add" };
      }),
    );
  });
}

/** Did an attempt before the crash get that far? */
async function isInPlace(
  directory: DirectoryHandle,
  { name, temporaryName, content }: { readonly name: string; readonly temporaryName: string; readonly content: Buffer },
): Promise<boolean> {
  // It may have come between the two names of a file that is being added, which then had both.
  await removeIfThere(entryPath(directory, temporaryName));
  const present = await inspectFile(directory, name);
  if (present?.hash !== hashBytes(content)) return false;
  await syncDirectory(directory);
  return true;
}

/** What stands where a file was to be added. Asking refuses links and devices by itself. */
async function obstacle(
  directory: DirectoryHandle,
  name: string,
  overwrite: boolean,
  context: CallContext,
): Promise<ToolFailure> {
  await inspectFile(directory, name);
  const path = shownPath(directory, name);
  return overwrite ? changedSince(path, context) : taken(path);
}

function taken(path: string): ToolFailure {
  return new ToolFailure(
    "invalid.request",
    `There is a file already: ${JSON.stringify(path)}. Choose another name, or set overwrite to replace it.`,
    { details: { path } },
  );
}

function linesOf(text: string): readonly string[] {
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}
