/**
 * `message.send`: a message to somebody, on one of the configured channels (P-3.3).
 *
 * 1. The plan holds channel, recipient, recipient type, and the hash of the text and of every attachment. `run` finds all
 *    of them unchanged or sends nothing.
 * 2. What the honeypot exception asks about stands in the plan: found out here, never claimed by the model.
 * 3. The channel says whether it takes a key. One that does not is never asked twice by itself, and where nobody knows
 *    whether the message went out, that is what is reported.
 * 4. The hosts behind a channel are the operator's choice and no call's: they need no `net` capability.
 */
import { isDeepStrictEqual } from "node:util";
import { Type } from "typebox";
import { hashBytes } from "../../../kernel/vocabulary/hash.ts";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { ChannelError } from "../../../runtime/ports/channel.ts";
import type { CallContext, Planned } from "../../../runtime/ports/toolbox.ts";
import { type CallOutline, defineTool } from "../define-tool.ts";
import { fieldOf } from "../fs/field-of.ts";
import type { Workspace } from "../fs/workspace.ts";
import { ToolFailure } from "../tool-failure.ts";
import { countLinks } from "./count-links.ts";
import { type MessageParts, type PreparedMessage, prepareMessage, recipientHints } from "./prepare-message.ts";
import { type ReadAttachment, readAttachments } from "./read-attachments.ts";
import { showMessage } from "./show-message.ts";

const MAX_ATTACHMENTS = 10;

export interface SendParts extends MessageParts {
  readonly workspace: Workspace;
}

interface SendArguments {
  readonly channel: string;
  readonly recipient: string;
  readonly text: string;
  readonly template_id: string;
  readonly attachments: readonly string[];
}

export function messageSendTool(parts: SendParts) {
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
      return `sent a message to ${fieldOf(args, "recipient") ?? "somebody"}`;
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
    reversal: { kind: "irreversible", how: "a message that went out cannot be called back" },
    shown: showMessage("Send a message", message, attachments),
    send: {
      templateId,
      recipientType: recipient.type,
      links: countLinks(text),
      attachments: attachments.length,
    },
    plan: boundTo(parts, message, attachments),
  };
}

/** What an approval covers. */
function boundTo(
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
  if (!mayAct || !isDeepStrictEqual(boundTo(parts, message, attachments), { argv, scriptHashes, targets })) {
    throw new ToolFailure("policy.denied", "The message is not the one that was planned any more; nothing was sent.");
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
    throw signal.aborted ? failureOf(new ChannelError("channel.unknown", "It was stopped on the way.")) : error;
  }
  return { channel: channel.name, recipient: recipient.address, sent: true };
}

function failureOf(cause: ChannelError): ToolFailure {
  const { code, message } = cause;
  if (code === "channel.refused") return new ToolFailure("invalid.request", message, { cause });
  if (code === "channel.unavailable") return new ToolFailure("internal.error", message, { retryable: true, cause });
  const unknown = `Whether the message went out is not known; look before you send it again. ${message}`;
  return new ToolFailure("internal.error", unknown, { details: { outcome: "unknown" }, cause });
}
