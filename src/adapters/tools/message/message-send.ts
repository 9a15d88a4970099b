/**
 * The message tools: `message.send` sends on one of the configured channels, `message.draft` only shows a message to
 * the user (P-3.3). What the honeypot exception depends on is computed here and never taken from the model. A channel
 * that takes no idempotency key is never retried. The operator chooses a channel's hosts, so they need no `net`
 * capability.
 */
import { isDeepStrictEqual } from "node:util";
import { Type } from "typebox";
import { hashBytes } from "../../../kernel/vocabulary/hash.ts";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { ChannelError } from "../../../runtime/ports/channel.ts";
import type { CallContext, Planned } from "../../../runtime/ports/toolbox.ts";
import { type CallOutline, defineTool, fieldOf, type Tool } from "../define-tool.ts";
import type { Workspace } from "../fs/workspace.ts";
import { ToolFailure } from "../tool-failure.ts";
import { countLinks } from "./count-links.ts";
import {
  type MessageParts,
  type PreparedMessage,
  prepareMessage,
  recipientHints,
  showMessage,
} from "./prepare-message.ts";
import { type ReadAttachment, readAttachments } from "./read-attachments.ts";

const MAX_ATTACHMENTS = 10;

interface SendParts extends MessageParts {
  readonly workspace: Workspace;
}

interface SendArguments {
  readonly channel: string;
  readonly recipient: string;
  readonly text: string;
  readonly template_id: string;
  readonly attachments: readonly string[];
}

/** Both message tools; none without a channel, since a prompt should name no tool that can only fail. */
export function messageTools(parts: SendParts): readonly Tool[] {
  return parts.channels.length === 0 ? [] : [messageDraftTool(parts), messageSendTool(parts)];
}

function messageSendTool(parts: SendParts) {
  const { channels } = parts;
  return defineTool({
    name: "message.send",
    description: "Send a message.",
    parameters: Type.Object(
      {
        channel: Type.Enum(channels.map(({ name }) => name)),
        recipient: Type.String({ minLength: 1, description: recipientHints(parts) }),
        text: Type.Optional(Type.String({ default: "" })),
        template_id: Type.Optional(Type.String({ default: "", description: "Instead of text" })),
        attachments: Type.Optional(
          Type.Array(Type.String({ minLength: 1 }), {
            ...{ default: [], maxItems: MAX_ATTACHMENTS, description: "Paths in the workspace" },
          }),
        ),
      },
      { additionalProperties: false },
    ),
    risk: "side_effect",
    idempotency: "opaque",
    plan: (args) => planSend(parts, args),
    run: ({ args, plan }, context) => runSend(parts, args, plan, context),
    summarize({ args }) {
      return `sent a message to ${fieldOf(args, "recipient") ?? "a recipient"}`;
    },
  });
}

/** A message that could not be sent is refused here too. */
function messageDraftTool(parts: MessageParts) {
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

async function planSend(parts: SendParts, args: SendArguments): Promise<CallOutline> {
  const message = await prepareMessage(parts, args);
  const attachments = await readAttachments(parts.workspace, args.attachments);
  const { channel, recipient, text, templateId } = message;
  return {
    idempotency: channel.idempotency,
    labels: USER_LABELS,
    reversal: { kind: "irreversible", how: "a sent message cannot be recalled" },
    shown: showMessage("Send a message", message, attachments),
    send: {
      templateId,
      recipientType: recipient.type,
      links: countLinks(text),
      attachments: attachments.length,
    },
    plan: boundPlan(parts, message, attachments),
  };
}

function boundPlan(
  { workspace }: SendParts,
  { channel, recipient, text, templateId }: PreparedMessage,
  attachments: readonly ReadAttachment[],
) {
  const { name, idempotency } = channel;
  return {
    argv: [name, idempotency, recipient.type, recipient.address, templateId ?? ""],
    scriptHashes: [hashBytes(text), ...attachments.map(({ hash }) => hash)],
    targets: [`${name}:${recipient.address}`, ...attachments.map(({ path }) => `${workspace.root}/${path}`)],
  };
}

async function runSend(
  parts: SendParts,
  args: SendArguments,
  { argv, scriptHashes, targets }: Planned["plan"],
  { mayAct, idempotencyKey, signal }: CallContext,
) {
  const message = await prepareMessage(parts, args);
  const attachments = await readAttachments(parts.workspace, args.attachments);
  if (!mayAct || !isDeepStrictEqual(boundPlan(parts, message, attachments), { argv, scriptHashes, targets })) {
    throw new ToolFailure(
      "policy.denied",
      "The message has changed since it was planned; nothing was sent. Call it again.",
    );
  }
  const { channel, recipient, text, templateId } = message;
  const outbound = {
    ...{ recipient, text, templateId, idempotencyKey },
    attachments: attachments.map(({ name, bytes }) => ({ name, bytes })),
  };
  signal.throwIfAborted();
  try {
    await channel.send(outbound, signal);
  } catch (error) {
    if (error instanceof ChannelError) throw failureOf(error);
    throw signal.aborted ? failureOf(new ChannelError("channel.unknown", "It was stopped while sending.")) : error;
  }
  return { channel: channel.name, recipient: recipient.address, sent: true };
}

function failureOf(cause: ChannelError): ToolFailure {
  const { code, message } = cause;
  if (code === "channel.refused") return new ToolFailure("invalid.request", message, { cause });
  if (code === "channel.unavailable") return new ToolFailure("internal.error", message, { retryable: true, cause });
  const unknown = `The message may have been sent or not; check before you send it again. ${message}`;
  return new ToolFailure("internal.error", unknown, { details: { outcome: "unknown" }, cause });
}
