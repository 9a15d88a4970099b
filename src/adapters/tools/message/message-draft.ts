/**
 * `message.draft`: a message for the user to read; nothing is sent (P-3.3, draft_only). The draft is the call's result, so
 * the journal stores it. A message that could not be sent is refused here too.
 */
import { Type } from "typebox";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { defineTool, fieldOf } from "../define-tool.ts";
import { type MessageParts, prepareMessage, recipientHints, showMessage } from "./prepare-message.ts";

export function messageDraftTool(parts: MessageParts) {
  return defineTool({
    name: "message.draft",
    description: "Draft a message for the user to read; it is not sent.",
    parameters: Type.Object(
      {
        channel: Type.Enum(parts.channels.map(({ name }) => name)),
        recipient: Type.String({ minLength: 1, description: recipientHints(parts) }),
        text: Type.String({ minLength: 1 }),
      },
      { additionalProperties: false },
    ),
    risk: "draft_only",
    idempotency: "own_store",
    async plan(args) {
      const message = await prepareMessage(parts, { ...args, template_id: "" });
      return {
        labels: USER_LABELS,
        reversal: { kind: "reversible", how: "it sends and changes nothing" },
        shown: showMessage("Draft a message; it is not sent", message, []),
      };
    },
    async run({ args }) {
      const { channel, recipient, text } = await prepareMessage(parts, { ...args, template_id: "" });
      return { channel: channel.name, recipient: recipient.address, recipient_type: recipient.type, text, sent: false };
    },
    summarize({ args }) {
      return `drafted a message to ${fieldOf(args, "recipient") ?? "a recipient"}`;
    },
  });
}
