/**
 * From the arguments of a call to the message as it would go out.
 *
 * M1. A template is the operator's text, word for word: who names one writes nothing of the message. So what a template
 *     was allowlisted for is what is sent.
 * M2. Who a recipient is, and of what type, the channel says.
 */
import type { Channel, Recipient } from "../../../runtime/ports/channel.ts";
import { ToolFailure } from "../tool-failure.ts";

const MAX_TEXT_BYTES = 65_536;

export interface MessageParts {
  readonly channels: readonly Channel[];
  /** Texts by their ids. */
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
    throw new ToolFailure("tool.input_invalid", `There is no such channel. There are: ${names}.`);
  }
  const templateId = given.template_id === "" ? null : given.template_id;
  const text = templateId === null ? checkedText(given.text) : templateText(templates, templateId, given.text);
  const recipient = await channel.findRecipient(given.recipient);
  if (recipient === null) {
    const message = `${channel.name} knows no such recipient: it takes ${channel.recipientHint}.`;
    throw new ToolFailure("invalid.request", message);
  }
  return { channel, recipient, text, templateId };
}

function checkedText(text: string): string {
  const bytes = Buffer.byteLength(text);
  const problem =
    text.trim() === ""
      ? "is missing: write one, or name a template_id"
      : text.includes("\0")
        ? "holds a NUL character, which no message does"
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
    throw new ToolFailure("tool.input_invalid", `There is no such template. There are: ${known}.`);
  }
  if (text !== "") {
    throw new ToolFailure("tool.input_invalid", "A template is sent as it stands: leave text or template_id out.");
  }
  return found;
}
