/**
 * `fs.edit`: replaces one text in a file by another, exactly.
 *
 * 1. An edit that leaves a doubt is refused: no match, several without `replace_all`, or a text with a mark of redaction
 *    or truncation, where the file has the real characters.
 * 2. The plan binds the directory (device and inode) and the file's hash before and after. The approver sees every
 *    removed and added line.
 * 3. The file is replaced atomically and keeps its permissions. It must be UTF-8 without hard links.
 * 4. A repeat after a crash succeeds if the edit is already made (`keyed`, `last-edit.ts`): for that, an edit that fails
 *    only because it was the last one made is planned as a call that changes nothing.
 * 5. In an untrusted context the file is marked first (`untrusted-marks.ts`). A clean edit keeps an existing mark.
 */
import type { Stats } from "node:fs";
import { Type } from "typebox";
import { mayHoldMarker } from "../../../kernel/redaction/redaction-marker.ts";
import { hashBytes, hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import type { CallContext, Planned } from "../../../runtime/ports/toolbox.ts";
import { type ArgumentsOf, defineTool, fieldOf } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";
import { applyEdit, type EditVerdict } from "./apply-edit.ts";
import { atomicWrite, callKey, isAlreadyWritten, temporaryNameOf } from "./atomic-write.ts";
import { type DirectoryHandle, identityOf, isDirectoryOf, shownPath } from "./directory-handle.ts";
import { changedSince, missing, pathFailure, withPathErrors } from "./fs-failure.ts";
import { countInvisible } from "./invisible-characters.ts";
import { readLastEdit, writeLastEdit } from "./last-edit.ts";
import { MAX_REPLACED_BYTES, readWhole, refuseHardLinks, textOf, withRegularFile } from "./regular-file.ts";
import { showDiff } from "./show-diff.ts";
import { findToolStateDirectory, openToolStateDirectory } from "./tool-state-directory.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import { inDirectory, type Workspace } from "./workspace.ts";
import { fileNames } from "./workspace-path.ts";

const MAX_SHOWN_CHARS = 1_048_576;
/** Contracts append it to cut results, and models copy it. */
const TRUNCATED = "[… truncated]";

const parameters = Type.Object(
  {
    path: Type.String({ minLength: 1 }),
    old_text: Type.String({ minLength: 1, description: "Exactly as in the file" }),
    new_text: Type.String(),
    replace_all: Type.Optional(Type.Boolean({ default: false })),
  },
  { additionalProperties: false },
);

type EditArguments = ArgumentsOf<typeof parameters>;

interface Dependencies {
  readonly stateDirectory: string;
  readonly marks: UntrustedMarks;
}

const rename = {
  file_path: "path",
  old_string: "old_text",
  new_string: "new_text",
  old_str: "old_text",
  new_str: "new_text",
};

export function editTool(workspace: Workspace, dependencies: Dependencies) {
  return defineTool({
    name: "fs.edit",
    description: "Replace a text in a file of the workspace.",
    parameters,
    risk: "side_effect",
    idempotency: "keyed",
    aliases: [
      { name: "file_edit", rename },
      { name: "str_replace", rename },
    ],
    plan: (args) => planEdit(workspace, dependencies, args),
    run: ({ args, plan }, context) => runEdit(workspace, dependencies, { args, plan }, context),
    summarize({ args, output }) {
      const path = fieldOf(output, "path") ?? fieldOf(args, "path") ?? "a file";
      const count = fieldOf(output, "replacements");
      return count === undefined ? `edited ${path}` : `edited ${path} (${count} place(s))`;
    },
  });
}

function planEdit(workspace: Workspace, { stateDirectory }: Dependencies, args: EditArguments) {
  const { parents, name, shown } = fileNames(args.path);
  refuseMarks(args);
  const target = `${workspace.root}/${shown}`;
  return inDirectory(workspace, parents, async (directory) => {
    const file = await readEditable(directory, name);
    const verdict = verdictOf(file.text, args);
    const cwd = { path: directory.path, ...identityOf(directory) };
    if (!verdict.ok) {
      const last = await readLastEdit(await findToolStateDirectory(workspace, stateDirectory), target);
      if (last?.call !== hashCanonical(args) || last.after !== file.hash) throw refusal(directory, name, verdict);
      return {
        labels: USER_LABELS,
        risk: "read_only" as const,
        shown: `Change nothing: this edit of ${JSON.stringify(target)} is already made`,
        plan: { cwd, targets: [target] },
      };
    }
    return {
      labels: USER_LABELS,
      reversal: {
        kind: "reversible" as const,
        how: "the plan shows every removed line, and the opposite edit restores it",
      },
      shown: showEdit(target, file.text, verdict),
      plan: { cwd, scriptHashes: [file.hash, hashBytes(verdict.text)], targets: [target] },
    };
  });
}

function runEdit(
  workspace: Workspace,
  { stateDirectory, marks }: Dependencies,
  { args, plan }: { readonly args: EditArguments; readonly plan: Planned["plan"] },
  context: CallContext,
) {
  const {
    cwd,
    scriptHashes: [before, after],
  } = plan;
  const { names, parents, name, shown } = fileNames(args.path);
  const target = `${workspace.root}/${shown}`;
  return inDirectory(workspace, parents, (directory) =>
    withPathErrors(shown, async () => {
      const state = await openToolStateDirectory(workspace, stateDirectory);
      if (context.isRepeat) {
        const last = await readLastEdit(state, target);
        const isOurs = last?.key === callKey(context);
        if ((await isAlreadyWritten(directory, name, isOurs ? last.after : null, context)) && isOurs) {
          return { path: shown, replacements: last.replacements, bytes: last.bytes };
        }
      }
      if (!context.mayAct || !isDirectoryOf(cwd, directory)) throw changedSince(shown, context);
      const file = await readEditable(directory, name);
      const verdict = verdictOf(file.text, args);
      if (before === undefined && !verdict.ok) throw refusal(directory, name, verdict);
      if (file.hash !== before || !verdict.ok || after === undefined) throw changedSince(shown, context);
      const content = Buffer.from(verdict.text);
      const replacements = verdict.replacements.length;
      const temporaryName = temporaryNameOf(context);
      const { signal } = context;
      const edit = { key: callKey(context), call: hashCanonical(args), after, replacements, bytes: content.length };
      await marks.beforeWrite(names, context);
      await writeLastEdit(state, target, edit, { temporaryName, signal });
      await atomicWrite(directory, { name, temporaryName, content, mode: "replace", like: file.stats }, signal);
      await marks.afterWrite(names, context);
      return { path: shown, replacements, bytes: content.length };
    }),
  );
}

interface EditableFile {
  readonly text: string;
  readonly hash: Hash;
  readonly stats: Stats;
}

async function readEditable(directory: DirectoryHandle, name: string): Promise<EditableFile> {
  const path = shownPath(directory, name);
  const file = await withRegularFile(directory, name, async (open) => {
    refuseHardLinks(open, path);
    const content = await readWhole(open, path);
    return { text: textOf(content, path), hash: hashBytes(content), stats: open.stats };
  });
  if (file === null) throw missing(path);
  return file;
}

function verdictOf(text: string, args: EditArguments): EditVerdict {
  const { old_text: oldText, new_text: newText, replace_all: replaceAll } = args;
  const verdict = applyEdit(text, { oldText, newText, replaceAll }, MAX_REPLACED_BYTES);
  if (!verdict.ok || Buffer.byteLength(verdict.text) <= MAX_REPLACED_BYTES) return verdict;
  return { ok: false, problem: "the file would become too large for an edit" };
}

function refuseMarks(args: EditArguments): void {
  for (const name of ["old_text", "new_text"] as const) {
    const problem = problemOf(args[name]);
    if (problem !== null) throw new ToolFailure("tool.input_invalid", `fs.edit: ${name} contains ${problem}.`);
  }
}

function problemOf(text: string): string | null {
  if (mayHoldMarker(text)) return "a [REDACTED] mark where the file has a secret: edit around it";
  if (text.includes(TRUNCATED)) return "a mark of truncated output where the file goes on: read that part first";
  return text.includes("\0") ? "a NUL character, which a text file cannot hold" : null;
}

function showEdit(target: string, text: string, { replacements }: Extract<EditVerdict, { ok: true }>): string {
  const lines = showDiff(text, replacements);
  const added = lines.filter((line) => line.startsWith("+")).map((line) => line.replace(/\r$/, ""));
  const invisible = countInvisible(added.join("\n"));
  const shown = [
    "Edit a file",
    `  path:    ${JSON.stringify(target)}`,
    `  places:  ${replacements.length}`,
    ...(invisible === 0 ? [] : [`  warning: ${invisible} control or invisible characters in the added text`]),
    "  every removed (-) and added (+) line, each behind a bar:",
  ]
    .concat(lines.map((line) => `| ${line}`))
    .join("\n");
  if (shown.length <= MAX_SHOWN_CHARS) return shown;
  const message = "fs.edit: the changed lines are too long to show to an approver: make smaller edits.";
  throw new ToolFailure("invalid.request", message);
}

function refusal(directory: DirectoryHandle, name: string, verdict: EditVerdict): ToolFailure {
  const problem = verdict.ok ? "nothing would change" : verdict.problem;
  return pathFailure("invalid.request", shownPath(directory, name), `was not edited: ${problem}`);
}
