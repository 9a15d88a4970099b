/** Errors in words: what happened, then what to do. A code stands behind its sentence, for whoever asks or searches. */
import type { CallError } from "./data/client.ts";

export interface Sentence {
  readonly happened: string;
  readonly advice: string;
}

type Words = (error: CallError) => Sentence;

const say =
  (happened: string, advice: string): Words =>
  () => ({ happened, advice });
/** The gateway's own sentence says what happened best. */
const told =
  (advice: string): Words =>
  ({ message }) => ({ happened: sentence(message), advice });

const WORDS: Readonly<Record<string, Words>> = {
  "gateway.unreachable": say(
    "The gateway does not answer.",
    "Nothing was sent twice. It may be starting again; this page keeps dialling.",
  ),
  "auth.required": say("This browser is not signed in.", "Run surety login and open the link it prints."),
  "auth.forbidden": told("Ask for a token with the scope, or do it at the terminal."),
  "auth.rate_limited": ({ retryAfterSeconds }) => ({
    happened: "Too many wrong tokens came from this address.",
    advice: `Wait ${waitWords(retryAfterSeconds)}, then try again.`,
  }),
  "queue.full": ({ retryAfterSeconds }) => ({
    happened: "The queue is full. Nothing was accepted.",
    advice: `Try again in ${waitWords(retryAfterSeconds)}.`,
  }),
  "chat.rate_limited": ({ retryAfterSeconds }) => ({
    happened: "Messages come faster than this sender may write.",
    advice: `Nothing was taken. Try again in ${waitWords(retryAfterSeconds)}.`,
  }),
  "payload.too_large": told("Nothing was accepted. Send less at once."),
  "store.unavailable": say(
    "Storage is unavailable, so nothing can be accepted.",
    "The gateway reopens it by itself; the log says why. Try again in a moment.",
  ),
  "internal.error": told("Nothing else is known here; the log has the details under that id."),
  "invalid.request": told("Nothing was changed. Correct it and try again."),
  conflict: told("Nothing was changed."),
  not_found: told("It may have been removed. Go back and choose another."),
  timeout: say("The request took too long to arrive.", "Nothing was accepted. Try again."),
  "page.outdated": say("This page is older than its gateway.", "Load the page again."),
};

export function wordsFor(error: CallError): Sentence {
  const words = WORDS[error.code];
  if (words !== undefined) return words(error);
  return { happened: sentence(error.message), advice: "" };
}

/** As one text, for announcements. */
export function textOf(error: CallError): string {
  const { happened, advice } = wordsFor(error);
  return `${happened} ${advice}`.trim();
}

export function sentence(message: string): string {
  const text = message.trim();
  if (text === "") return "It failed without saying why.";
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/u.test(begun) ? begun : `${begun}.`;
}

function waitWords(seconds: number | null): string {
  if (seconds === null) return "a moment";
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
