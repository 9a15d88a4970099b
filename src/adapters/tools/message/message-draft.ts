/**
 * `message.draft`: a message as it could be sent, for somebody to read. Nothing leaves (P-3.3, draft_only).
 *
 * 1. The draft is the call's result: the journal keeps it, and the user is shown it.
 * 2. What could not be sent is refused here already.
 */
import { Type } from "typebox";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { defineTool } from "../define-tool.ts";
import { fieldOf } from "../fs/field-of.ts";
import { type MessageParts, prepareMessage, recipientHints } from "./prepare-message.ts";
import { showMessage } from "./show-message.ts";

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
        reversal: { kind: "reversible", how: "nothing leaves, and nothing is changed" },
        shown: showMessage("Draft a message; it is not sent", message, []),
      };
    },
    async run({ args }) {
      const { channel, recipient, text } = await prepareMessage(parts, { ...args, template_id: "" });
      return { channel: channel.name, recipient: recipient.address, recipient_type: recipient.type, text, sent: false };
    },
    summarize({ args }) {
      return `drafted a message to ${fieldOf(args, "recipient") ?? "somebody"}`;
    },
  });
}
