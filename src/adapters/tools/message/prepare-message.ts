/**
 * Turns the arguments of a call into the message as it would go out, and shows it to an approver. A template is the
 * operator's text, sent verbatim: the call adds nothing to it, so what was allowlisted is what is sent.
 */
import type { Channel, Recipient } from "../../../runtime/ports/channel.ts";
import { countInvisible } from "../fs/invisible-characters.ts";
import { ToolFailure } from "../tool-failure.ts";
import { countLinks } from "./count-links.ts";
import type { ReadAttachment } from "./read-attachments.ts";

const MAX_TEXT_BYTES = 65_536;

export interface MessageParts {
  readonly channels: readonly Channel[];
  readonly templates: Readonly<Record<string, string>>;
}

export interface PreparedMessage {
  readonly channel: Channel;
  readonly recipient: Recipient;
  readonly text: string;
  readonly templateId: string | null;
}

export function recipientHints({ channels }: MessageParts): string {
  return channels.map(({ name, recipientHint }) => `${name}: ${recipientHint}`).join("; ");
}

export async function prepareMessage(
  { channels, templates }: MessageParts,
  given: { readonly channel: string; readonly recipient: string; readonly text: string; readonly template_id: string },
): Promise<PreparedMessage> {
  const channel = channels.find(({ name }) => name === given.channel);
  if (channel === undefined) {
    const names = channels.map(({ name }) => name).join(", ");
    throw new ToolFailure("tool.input_invalid", `No such channel. Known channels: ${names}.`);
  }
  const templateId = given.template_id === "" ? null : given.template_id;
  const text = templateId === null ? checkedText(given.text) : templateText(templates, templateId, given.text);
  const recipient = await channel.findRecipient(given.recipient);
  if (recipient === null) {
    const message = `${channel.name} has no such recipient: it takes ${channel.recipientHint}.`;
    throw new ToolFailure("invalid.request", message);
  }
  return { channel, recipient, text, templateId };
}

function checkedText(text: string): string {
  const bytes = Buffer.byteLength(text);
  const problem =
    text.trim() === ""
      ? "is missing: write one, or set template_id"
      : text.includes("\0")
        ? "contains a NUL character, which a message cannot hold"
        : bytes > MAX_TEXT_BYTES
          ? `has ${bytes} bytes, more than ${MAX_TEXT_BYTES}: shorten it, or attach a file`
          : null;
  if (problem !== null) throw new ToolFailure("tool.input_invalid", `The text ${problem}.`);
  return text;
}

function templateText(templates: MessageParts["templates"], id: string, text: string): string {
  const found = Object.hasOwn(templates, id) ? templates[id] : undefined;
  if (found === undefined) {
    const known = Object.keys(templates).join(", ") || "none";
    throw new ToolFailure("tool.input_invalid", `No such template. Known templates: ${known}.`);
  }
  if (text !== "") {
    throw new ToolFailure("tool.input_invalid", "A template is sent verbatim: leave out text or template_id.");
  }
  return found;
}

export function showMessage(
  headline: string,
  { channel, recipient, text, templateId }: PreparedMessage,
  attachments: readonly ReadAttachment[],
): string {
  const invisible = countInvisible(text);
  const links = countLinks(text);
  return [
    headline,
    `  channel:  ${channel.name}`,
    `  to:       ${JSON.stringify(recipient.address)} (${recipient.type})`,
    templateId === null ? null : `  template: ${JSON.stringify(templateId)}`,
    `  bytes:    ${Buffer.byteLength(text)}`,
    links === 0 ? null : `  links:    ${links}, possible ones included`,
    invisible === 0 ? null : `  warning:  ${invisible} control or invisible characters in the text`,
    ...attachments.map(
      ({ path, bytes, hash }) => `  attached: ${JSON.stringify(path)}, ${bytes.length} bytes, sha256 ${hash}`,
    ),
    "  the whole text, each line behind a bar:",
    ...text.split("\n").map((line) => `| ${line}`),
  ]
    .filter((line) => line !== null)
    .join("\n");
}
