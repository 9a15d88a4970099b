/**
 * `fs.edit`: one text in a file replaced by another, exactly.
 *
 * 1. Refused is what leaves a doubt: no such place, more than one without `replace_all`, a text that holds a mark of
 *    redaction or truncation. Where such a mark stands the file has the real characters.
 * 2. The plan holds the directory, by device and inode, and the hash of the file before and after.
 * 3. An approver is shown the path and every line that goes or comes, each behind a bar.
 * 4. The file is replaced whole, at once; it keeps its permissions. It must be UTF-8 and have no second name, which may
 *    belong outside.
 * 5. Repeated after a crash, an edit that is in place already is a success (`keyed`): `last-edit.ts` tells. For that,
 *    an edit that cannot be made because it was the last one made is planned as one that changes nothing.
 * 6. A file that an untrusted context edits is marked before (`untrusted-marks.ts`). A clean edit leaves the rest of the
 *    file as it was, and its mark.
 */
import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { Type } from "typebox";
import { mayHoldMarker } from "../../../kernel/redaction/redaction-marker.ts";
import { hashBytes, hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import type { CallContext, Planned } from "../../../runtime/ports/toolbox.ts";
import { defineTool } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";
import { applyEdit, type EditVerdict } from "./apply-edit.ts";
import { placeFile, removeIfThere } from "./atomic-write.ts";
import { callKey, temporaryNameOf } from "./call-key.ts";
import { type DirectoryHandle, entryPath, identityOf, shownPath } from "./directory-handle.ts";
import { fieldOf } from "./field-of.ts";
import { changedSince, missing, naming } from "./fs-failure.ts";
import { type LastEdit, readLastEdit, writeLastEdit } from "./last-edit.ts";
import { inspectFile, MAX_PRESENT_BYTES, readPresent, withRegularFile } from "./regular-file.ts";
import { showDiff } from "./show-diff.ts";
import { findToolStateDirectory, makeToolStateDirectory } from "./tool-state-directory.ts";
import { countUnseen } from "./unseen-characters.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import { inDirectory, syncDirectory, type Workspace } from "./workspace.ts";
import { fileNames } from "./workspace-path.ts";

const MAX_SHOWN_CHARS = 1_048_576;
/** As contracts write it, and as models copy it. */
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

interface EditArguments {
  readonly path: string;
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all: boolean;
}

interface Beside {
  /** Where the annex is, as `tool-state-directory.ts` has it. */
  readonly annex: string;
  readonly marks: UntrustedMarks;
}

const rename = {
  file_path: "path",
  old_string: "old_text",
  new_string: "new_text",
  old_str: "old_text",
  new_str: "new_text",
};

export function editTool(workspace: Workspace, beside: Beside) {
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
    plan: (args) => planEdit(workspace, beside, args),
    run: ({ args, plan }, context) => runEdit(workspace, beside, { args, plan }, context),
    summarize({ args, output }) {
      const path = fieldOf(output, "path") ?? fieldOf(args, "path") ?? "a file";
      const count = fieldOf(output, "replacements");
      return count === undefined ? `edited ${path}` : `edited ${path} (${count} place(s))`;
    },
  });
}

function planEdit(workspace: Workspace, beside: Beside, args: EditArguments) {
  const { parents, name } = fileNames(args.path);
  refuseMarks(args);
  const target = [workspace.root, ...parents, name].join("/");
  return inDirectory(workspace, parents, async (directory) => {
    const file = await readEditable(directory, name);
    const verdict = verdictOf(file.text, args);
    const cwd = { path: directory.path, ...identityOf(directory) };
    if (!verdict.ok) {
      const last = await readLastEdit(await findToolStateDirectory(workspace, beside.annex), target);
      if (last?.call !== hashCanonical(args) || last.after !== file.hash) throw refusal(directory, name, verdict);
      return {
        labels: USER_LABELS,
        risk: "read_only" as const,
        shown: `Change nothing: this edit of ${JSON.stringify(target)} was made already`,
        plan: { cwd, targets: [target] },
      };
    }
    return {
      labels: USER_LABELS,
      reversal: {
        kind: "reversible" as const,
        how: "every line that goes is shown, and the opposite edit brings it back",
      },
      shown: showEdit(target, file.text, verdict),
      plan: { cwd, scriptHashes: [file.hash, hashBytes(verdict.text)], targets: [target] },
    };
  });
}

function runEdit(
  workspace: Workspace,
  beside: Beside,
  { args, plan }: { readonly args: EditArguments; readonly plan: Planned["plan"] },
  context: CallContext,
) {
  const {
    cwd,
    scriptHashes: [before, after],
  } = plan;
  const { parents, name } = fileNames(args.path);
  const shown = [...parents, name].join("/");
  const target = [workspace.root, ...parents, name].join("/");
  return inDirectory(workspace, parents, (directory) =>
    naming(shown, async () => {
      const annex = await makeToolStateDirectory(workspace, beside.annex);
      if (context.isRepeat) {
        const done = await findDone(directory, name, await readLastEdit(annex, target), context);
        if (done !== null) return { path: shown, replacements: done.replacements, bytes: done.bytes };
      }
      const { device, inode } = identityOf(directory);
      if (!context.mayAct || device !== cwd?.device || inode !== cwd.inode) throw changedSince(shown, context);
      const file = await readEditable(directory, name);
      const verdict = verdictOf(file.text, args);
      if (before === undefined && !verdict.ok) throw refusal(directory, name, verdict);
      if (file.hash !== before || !verdict.ok || after === undefined) throw changedSince(shown, context);
      const content = Buffer.from(verdict.text);
      const replacements = verdict.replacements.length;
      const temporaryName = temporaryNameOf(context);
      const { signal } = context;
      const edit = { key: callKey(context), call: hashCanonical(args), after, replacements, bytes: content.length };
      await beside.marks.beforeWrite([...parents, name], context);
      await writeLastEdit(annex, target, edit, { temporaryName, signal });
      await placeFile(directory, { name, temporaryName, content, mode: "replace", like: file.stats }, signal);
      await beside.marks.afterWrite([...parents, name], context);
      return { path: shown, replacements, bytes: content.length };
    }),
  );
}

/** Did an attempt before the crash get that far? */
async function findDone(
  directory: DirectoryHandle,
  name: string,
  last: LastEdit | null,
  context: CallContext,
): Promise<LastEdit | null> {
  await removeIfThere(entryPath(directory, temporaryNameOf(context)));
  if (last?.key !== callKey(context) || (await inspectFile(directory, name))?.hash !== last.after) return null;
  await syncDirectory(directory);
  return last;
}

interface EditableFile {
  readonly text: string;
  readonly hash: Hash;
  readonly stats: Stats;
}

async function readEditable(directory: DirectoryHandle, name: string): Promise<EditableFile> {
  const path = shownPath(directory, name);
  const file = await withRegularFile(directory, name, async (open) => {
    if (open.stats.nlink > 1) {
      const message = `It has more than one name (hard links), so it may belong outside the workspace: ${JSON.stringify(path)}.`;
      throw new ToolFailure("policy.denied", message, { details: { path } });
    }
    const content = await readPresent(open, path);
    if (!isUtf8(content) || content.includes(0)) {
      const message = `It is not a text file in UTF-8: ${JSON.stringify(path)}.`;
      throw new ToolFailure("invalid.request", message, { details: { path } });
    }
    return { text: content.toString(), hash: hashBytes(content), stats: open.stats };
  });
  if (file === null) throw missing(path);
  return file;
}

function verdictOf(text: string, args: EditArguments): EditVerdict {
  const { old_text: oldText, new_text: newText, replace_all: replaceAll } = args;
  const verdict = applyEdit(text, { oldText, newText, replaceAll }, MAX_PRESENT_BYTES);
  if (!verdict.ok || Buffer.byteLength(verdict.text) <= MAX_PRESENT_BYTES) return verdict;
  return { ok: false, problem: "the file would become too large for an edit" };
}

function refuseMarks(args: EditArguments): void {
  for (const name of ["old_text", "new_text"] as const) {
    const problem = problemOf(args[name]);
    if (problem !== null) throw new ToolFailure("tool.input_invalid", `fs.edit: ${name} holds ${problem}.`);
  }
}

function problemOf(text: string): string | null {
  if (mayHoldMarker(text))
    return "the mark of a secret that was taken out; the file has the secret there: edit around it";
  if (text.includes(TRUNCATED)) return "a mark that says it was cut; the file goes on there: read that part first";
  return text.includes("\0") ? "a NUL character, which no text file does" : null;
}

function showEdit(target: string, text: string, { replacements }: Extract<EditVerdict, { ok: true }>): string {
  const lines = showDiff(text, replacements);
  const comes = lines.filter((line) => line.startsWith("+")).map((line) => line.replace(/\r$/, ""));
  const unseen = countUnseen(comes.join("\n"));
  const shown = [
    "Edit a file",
    `  path:    ${JSON.stringify(target)}`,
    `  places:  ${replacements.length}`,
    ...(unseen === 0 ? [] : [`  beware:  ${unseen} control or invisible characters in what comes`]),
    "  every line that goes (-) or comes (+), each behind a bar:",
  ]
    .concat(lines.map((line) => `| ${line}`))
    .join("\n");
  if (shown.length <= MAX_SHOWN_CHARS) return shown;
  const message = "fs.edit: the changed lines are too long to be shown to an approver: make smaller edits.";
  throw new ToolFailure("invalid.request", message);
}

function refusal(directory: DirectoryHandle, name: string, verdict: EditVerdict): ToolFailure {
  const path = shownPath(directory, name);
  const problem = verdict.ok ? "nothing would change" : verdict.problem;
  return new ToolFailure("invalid.request", `${JSON.stringify(path)}: ${problem}.`, { details: { path } });
}
