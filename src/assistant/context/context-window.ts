/**
 * What a model is sent of a session, made of the session as people read it (T-3c). It follows the rules of build-context.ts;
 * the two differ in what they are made from.
 */
import { cutText } from "../../kernel/vocabulary/cut-text.ts";
import { type TurnTexts, takeTurns } from "./build-context.ts";
import type { ContextLimits } from "./context-limits.ts";

export interface SaidMessage {
  readonly role: "user" | "assistant" | "system" | "tool";
  readonly content: string;
  readonly toolCalls?: readonly unknown[];
}

export interface WindowParts<Message extends SaidMessage> {
  readonly systemPrompt: string;
  readonly memorySummary: string;
  readonly toolDescriptions: string;
  /** Of the turns that are not condensed, oldest first. */
  readonly messages: readonly Message[];
  readonly limits: ContextLimits;
  readonly countTokens: (text: string) => number;
  /** Of the model, without the room for its answer. */
  readonly maxTokens: number;
}

interface Turn<Message> extends TurnTexts {
  readonly user: Message;
  readonly called: Message | null;
  readonly results: readonly Message[];
  readonly answer: Message | null;
}

export function contextWindow<Message extends SaidMessage>(parts: WindowParts<Message>) {
  const { systemPrompt, memorySummary, toolDescriptions, messages, limits, countTokens, maxTokens } = parts;
  const turns = turnsOf(messages);
  const count = (text: string): number => (text === "" ? 0 : countTokens(text));
  const fixed = count(systemPrompt) + count(memorySummary) + count(toolDescriptions);
  let { maxTurns } = limits;
  let taken = takeTurns(turns, limits, countTokens);
  // A small window takes fewer turns rather than less of anything else.
  while (fixed + taken.tokens > maxTokens && taken.turns.length > 0) {
    maxTurns = taken.turns.length - 1;
    taken = takeTurns(turns, { ...limits, maxTurns }, countTokens);
  }
  const recentMessages = taken.turns.flatMap((turn) => messagesOf(turn, limits));
  return { systemPrompt, memorySummary, recentMessages, toolDescriptions, totalTokens: fixed + taken.tokens };
}

/** The messages of the last turns: each begins with what the user said. */
export function lastTurns<Message extends SaidMessage>(
  messages: readonly Message[],
  turns: number,
): readonly Message[] {
  const starts = messages.flatMap(({ role }, at) => (role === "user" ? [at] : []));
  return turns === 0 ? [] : messages.slice(starts.at(-turns) ?? 0);
}

function turnsOf<Message extends SaidMessage>(messages: readonly Message[]): readonly Turn<Message>[] {
  const starts = messages.flatMap(({ role }, at) => (role === "user" ? [at] : []));
  return starts.flatMap((start, at) => {
    const [user, ...rest] = messages.slice(start, starts[at + 1]);
    if (user === undefined) return [];
    const called = rest.find(({ toolCalls }) => toolCalls !== undefined) ?? null;
    const results = rest.filter(({ role }) => role === "tool");
    const answer = rest.findLast(({ role, toolCalls }) => role === "assistant" && toolCalls === undefined) ?? null;
    const calls = results.map(({ content }, index) => ({
      ...{ callId: "", tool: "", ok: true },
      args: JSON.stringify(called?.toolCalls?.[index] ?? {}),
      result: content,
    }));
    const turn: Turn<Message> = {
      ...{ user, called, results, answer, calls },
      asked: { ref: null, text: user.content, note: null },
      answered: { ref: null, text: answer?.content ?? "" },
    };
    return [turn];
  });
}

/** Calls are left out from the oldest on, with their results. */
function messagesOf<Message extends SaidMessage>(
  { user, called, results, answer, calls }: Turn<Message>,
  { messageChars }: ContextLimits,
): readonly Message[] {
  const cut = (message: Message): Message => ({ ...message, content: cutText(message.content, messageChars) });
  const sent = called !== null && calls.length > 0;
  return [
    cut(user),
    ...(sent ? [{ ...called, toolCalls: called.toolCalls?.slice(-calls.length) }] : []),
    ...(sent ? results.slice(-calls.length) : []),
    ...(answer === null ? [] : [cut(answer)]),
  ];
}
