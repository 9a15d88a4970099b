/**
 * Streams an answer without its inline reasoning: the `<think>…</think>` blocks it begins with, in any case, with white
 * space before and between them. Reasoning is never read for calls or NOTES and never shown.
 *
 * A block that is not closed takes the rest of the answer. A tag after the first other character is text: a model may
 * write about tags. An answer without a leading block passes unchanged.
 */
import type { Transducer } from "../../vocabulary/transducer.ts";

const OPENING = "<think>";
const CLOSING = "</think>";

export type ThoughtState =
  /** Nothing but white space and whole blocks so far. `tag` may become an opening tag; `blank` is dropped after a block. */
  | { readonly at: "start"; readonly hasThought: boolean; readonly blank: string; readonly tag: string }
  /** `tag` may become the closing tag. */
  | { readonly at: "thought"; readonly tag: string }
  | { readonly at: "text" };

export const thoughtStripper: Transducer<string, string, ThoughtState> = {
  start: () => ({ at: "start", hasThought: false, blank: "", tag: "" }),
  push(state, chunk) {
    let now = state;
    let rest = chunk;
    while (now.at !== "text" && rest !== "") [now, rest] = now.at === "start" ? open(now, rest) : close(now, rest);
    return now.at === "text" ? [now, rest] : [now, ""];
  },
  finish: (state) => (state.at === "start" ? heldBack(state) : ""),
};

/** The answer without its inline reasoning. */
export function stripThoughts(content: string): string {
  const [state, text] = thoughtStripper.push(thoughtStripper.start(), content);
  return text + thoughtStripper.finish(state);
}

/** What `stripThoughts` leaves out, without the tags. */
export function inlineThoughts(content: string): string {
  const left = content.slice(0, content.length - stripThoughts(content).length);
  return left.replaceAll(/<\/?think>/gi, "\n").trim();
}

type Reading = [state: ThoughtState, rest: string];

/** Either takes all of the text, or what it returns follows an opening tag or is visible. */
function open(state: Extract<ThoughtState, { at: "start" }>, text: string): Reading {
  const spaces = state.tag === "" ? (/^\s*/.exec(text)?.[0] ?? "") : "";
  const spaced = { ...state, blank: state.blank + spaces };
  const tag = state.tag + text.slice(spaces.length);
  const head = tag.slice(0, OPENING.length);
  if (!isSame(head, OPENING.slice(0, head.length))) return [{ at: "text" }, heldBack({ ...spaced, tag })];
  if (head.length < OPENING.length) return [{ ...spaced, tag }, ""];
  return [{ at: "thought", tag: "" }, tag.slice(OPENING.length)];
}

function close(state: Extract<ThoughtState, { at: "thought" }>, text: string): Reading {
  const thought = state.tag + text;
  const end = thought.search(/<\/think>/i);
  if (end === -1) return [{ at: "thought", tag: thought.slice(1 - CLOSING.length) }, ""];
  return [{ at: "start", hasThought: true, blank: "", tag: "" }, thought.slice(end + CLOSING.length)];
}

function heldBack({ hasThought, blank, tag }: Extract<ThoughtState, { at: "start" }>): string {
  return hasThought ? tag : blank + tag;
}

/** Of ASCII letters alone: other characters fold to them, too. */
function isSame(text: string, expected: string): boolean {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) === expected;
}
