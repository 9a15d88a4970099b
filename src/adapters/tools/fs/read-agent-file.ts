/** Reads the workspace's AGENTS.md as the file tools read: a regular file beneath the root, through no link, with its labels. */
import { joinLabels } from "../../../kernel/vocabulary/labels.ts";
import { ToolFailure } from "../tool-failure.ts";
import { wholeCharacters } from "./read-text.ts";
import { readUpTo, refuseHardLinks, textOf, withRegularFile } from "./regular-file.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import { inDirectory, type Workspace } from "./workspace.ts";

const NAME = "AGENTS.md";
/** More is never sent: a prompt holds its beginning (`context.agentFileChars`). */
const MAX_BYTES = 262_144;

export function agentFileReader(workspace: Workspace, marks: UntrustedMarks) {
  return async () => {
    try {
      const before = await marks.labelsOf([NAME]);
      const read = await inDirectory(workspace, [], (directory) =>
        withRegularFile(directory, NAME, async (file) => {
          refuseHardLinks(file, NAME);
          const content = wholeCharacters(await readUpTo(file, MAX_BYTES + 1), MAX_BYTES);
          return { text: textOf(content, NAME), isCut: content.length < file.stats.size };
        }),
      );
      if (read === null) return null;
      // A mark is made before the write it covers, and taken away after the one that ends it.
      return { ok: true as const, ...read, labels: joinLabels(before, await marks.labelsOf([NAME])) };
    } catch (error) {
      if (!(error instanceof ToolFailure)) throw error;
      return { ok: false as const, code: error.code };
    }
  };
}
