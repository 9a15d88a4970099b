/**
 * Reads workspace files that go out with a message, whole, so that the hashed bytes are the ones sent. Hard links,
 * oversized files and duplicates are refused.
 */
import { hashBytes } from "../../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../../kernel/vocabulary/identifiers.ts";
import type { Attachment } from "../../../runtime/ports/channel.ts";
import { missing, pathFailure } from "../fs/fs-failure.ts";
import { readUpTo, refuseHardLinks, withRegularFile } from "../fs/regular-file.ts";
import { inDirectory, type Workspace } from "../fs/workspace.ts";
import { fileNames } from "../fs/workspace-path.ts";

/** What mail servers usually accept. */
const MAX_BYTES = 10_485_760;

export interface ReadAttachment extends Attachment {
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
      throw pathFailure("tool.input_invalid", attachment.path, "is attached twice");
    }
    total += attachment.bytes.length;
    attachments.push(attachment);
  }
  return attachments;
}

async function readAttachment(workspace: Workspace, path: string, maxBytes: number): Promise<ReadAttachment> {
  const { parents, name, shown } = fileNames(path);
  const bytes = await inDirectory(workspace, parents, (directory) =>
    withRegularFile(directory, name, (file) => {
      refuseHardLinks(file, shown);
      return readUpTo(file, maxBytes + 1);
    }),
  );
  if (bytes === null) throw missing(shown);
  if (bytes.length > maxBytes) {
    throw pathFailure(
      "invalid.request",
      shown,
      `exceeds the ${MAX_BYTES} bytes that all attachments may have together`,
    );
  }
  return { name, bytes, path: shown, hash: hashBytes(bytes) };
}
