/**
 * Files of the workspace that go out with a message.
 *
 * A1. They are opened beneath the workspace, without following links, and read whole: what is sent is what was hashed.
 * A2. Refused is what may belong outside (a second name), what is too large, and the same file twice.
 */
import { hashBytes } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import type { Attachment } from "../../../runtime/ports/channel.ts";
import { missing } from "../fs/fs-failure.ts";
import { readUpTo, withRegularFile } from "../fs/regular-file.ts";
import { inDirectory, type Workspace } from "../fs/workspace.ts";
import { fileNames } from "../fs/workspace-path.ts";
import { ToolFailure } from "../tool-failure.ts";

/** As much as mail servers take. */
const MAX_BYTES = 10_485_760;

export interface ReadAttachment extends Attachment {
  /** Beneath the workspace. */
  readonly path: string;
  readonly hash: Hash;
}

export async function readAttachments(
  workspace: Workspace,
  paths: readonly string[],
): Promise<readonly ReadAttachment[]> {
  const attachments: ReadAttachment[] = [];
  let total = 0;
  for (const path of paths) {
    const attachment = await readAttachment(workspace, path, MAX_BYTES - total);
    if (attachments.some((other) => other.path === attachment.path)) {
      throw refused("tool.input_invalid", attachment.path, "It is attached twice");
    }
    total += attachment.bytes.length;
    attachments.push(attachment);
  }
  return attachments;
}

async function readAttachment(workspace: Workspace, path: string, maxBytes: number): Promise<ReadAttachment> {
  const { parents, name } = fileNames(path);
  const shown = [...parents, name].join("/");
  const bytes = await inDirectory(workspace, parents, (directory) =>
    withRegularFile(directory, name, (file) => {
      if (file.stats.nlink > 1) {
        throw refused("policy.denied", shown, "It has more than one name (hard links): attach a copy of it");
      }
      return readUpTo(file, maxBytes + 1);
    }),
  );
  if (bytes === null) throw missing(shown);
  if (bytes.length > maxBytes) {
    throw refused("invalid.request", shown, `All that is attached may have ${MAX_BYTES} bytes, and this has more`);
  }
  return { name, bytes, path: shown, hash: hashBytes(bytes) };
}

function refused(code: ToolFailure["code"], path: string, problem: string): ToolFailure {
  return new ToolFailure(code, `${problem}: ${JSON.stringify(path)}.`, { details: { path } });
}
