/** What an approver reads of a message: to whom, and every byte of it, each line of the text behind a bar. */
import { countUnseen } from "../fs/unseen-characters.ts";
import { countLinks } from "./count-links.ts";
import type { PreparedMessage } from "./prepare-message.ts";
import type { ReadAttachment } from "./read-attachments.ts";

export function showMessage(
  headline: string,
  { channel, recipient, text, templateId }: PreparedMessage,
  attachments: readonly ReadAttachment[],
): string {
  const unseen = countUnseen(text);
  const links = countLinks(text);
  return [
    headline,
    `  channel:  ${channel.name}`,
    `  to:       ${JSON.stringify(recipient.address)} (${recipient.type})`,
    templateId === null ? null : `  template: ${JSON.stringify(templateId)}`,
    `  bytes:    ${Buffer.byteLength(text)}`,
    links === 0 ? null : `  links:    ${links}, or what may pass for one`,
    unseen === 0 ? null : `  beware:   ${unseen} control or invisible characters in the text`,
    ...attachments.map(
      ({ path, bytes, hash }) => `  attached: ${JSON.stringify(path)}, ${bytes.length} bytes, sha256 ${hash}`,
    ),
    "  text, whole, each line behind a bar:",
    ...text.split("\n").map((line) => `| ${line}`),
  ]
    .filter((line) => line !== null)
    .join("\n");
}
