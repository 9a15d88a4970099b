/** Sessions and chat over a trial, as boot wires them. */

import { randomBytes } from "node:crypto";
import { SessionContext } from "../../../src/assistant/context/session-context.ts";
import { channelClassOf } from "../../../src/assistant/sessions/channel-class.ts";
import { Chat } from "../../../src/assistant/sessions/chat.ts";
import type { Identity } from "../../../src/assistant/sessions/inbound-message.ts";
import { SenderLimit } from "../../../src/assistant/sessions/sender-limit.ts";
import { Sessions } from "../../../src/assistant/sessions/sessions.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { scopesUpTo } from "../../../src/runtime/operations/operation.ts";
import type { Trial } from "../../runtime/trial/open-trial.ts";

export const IDLE_MS = 1_800_000;

interface ChatOptions {
  readonly identities?: readonly Identity[];
  readonly perMinute?: number;
  readonly nowMs?: () => number;
}

export function openChat(
  { store, runtime, assistant, compaction, drafting, readAgentFile }: Trial,
  { identities = [], perMinute = 1_000_000, nowMs = systemClock.nowMs }: ChatOptions = {},
): { readonly chat: Chat; readonly sessions: Sessions } {
  const { approvals, capabilities } = runtime;
  const context = new SessionContext({
    ...{ ...drafting, readAgentFile, model: () => null, clock: systemClock },
    idleMs: () => IDLE_MS,
  });
  const clock = { ...systemClock, nowMs };
  const sessions = new Sessions({
    ...{ store, clock, random: randomBytes, capabilities, context, limitsOf: drafting.limitsOf, idleMs: IDLE_MS },
    modelOf: () => "scripted:model",
    onDefect: (error) => {
      throw error;
    },
  });
  const chat = new Chat({
    ...{ store, sessions, assistant, approvals, compaction, identities },
    activation: () => "mention",
    channelClass: channelClassOf,
    limit: new SenderLimit(systemClock, () => perMinute),
    modelProblem: (ref) => (ref === "scripted:model" ? null : `There is no model ${ref}`),
  });
  return { chat, sessions };
}

export const OPERATOR = { principal: "operator", source: "http", scopes: scopesUpTo("admin") };

/** A direct message over HTTP, unless it says otherwise. */
export function said(text: string, also: Partial<Parameters<Chat["receive"]>[0]> = {}): Parameters<Chat["receive"]>[0] {
  return { agentId: "main", channel: "http", senderId: "42", text, group: null, messageId: null, ...also };
}
