/** An answer while it arrives: the part that all wire protocols share. */
import { isCut, type RawModelOutput } from "../../kernel/protocol/raw-model-output.ts";
import type { ModelUsage, Thoughts } from "../../runtime/ports/model-backend.ts";
import type { Fault } from "./provider-fault.ts";

export interface AnswerDraft {
  readonly content: string;
  /** The last piece of `content`; slicing it off would copy the whole answer for each piece. */
  readonly added: string;
  /** Never a part of the answer. */
  readonly reasoning: string;
  readonly stopReason: string;
  readonly model: string;
  readonly usage: ModelUsage | null;
  /** Characters of text, reasoning and calls together. */
  readonly chars: number;
  /** Pieces that contained a part of the answer. */
  readonly pieces: number;
  /** The provider marked the end. */
  readonly isDone: boolean;
  /** The provider reported an error instead of an answer, or within one. */
  readonly failure: Fault | null;
  /** A piece was not this protocol; later pieces do not change that. */
  readonly isUnreadable: boolean;
}

/** Pure functions that read one wire protocol. */
export interface AnswerProtocol<Draft extends AnswerDraft> {
  readonly empty: Draft;
  /** Adds the payload of one stream event. */
  step(draft: Draft, payload: string): Draft;
  /** Reads a response that was not streamed. */
  readWhole(body: string): Draft;
  rawOutputOf(draft: Draft, hasEnded: boolean): RawModelOutput;
  /** The reasoning that the provider wants back with the answer's calls; null if there is none. */
  thoughtsOf(draft: Draft): Thoughts | null;
}

export const EMPTY_DRAFT: AnswerDraft = {
  content: "",
  added: "",
  reasoning: "",
  stopReason: "",
  model: "",
  usage: null,
  chars: 0,
  pieces: 0,
  isDone: false,
  failure: null,
  isUnreadable: false,
};

/** The answer when a model refused without a text. */
export const REFUSED = "The model refused to answer.";

export function isFinished({ isDone, failure, isUnreadable }: AnswerDraft): boolean {
  return isDone || failure !== null || isUnreadable;
}

/** A model was named or wrote something, so tokens may have been used. An error alone, or a web page, is no answer. */
export function hasAnswered({ pieces, model, usage }: AnswerDraft): boolean {
  return pieces > 0 || model !== "" || usage !== null;
}

/** Includes the provider's own strings, which may be too long as well. */
export function writtenLength({ chars, model, stopReason }: AnswerDraft): number {
  return chars + model.length + stopReason.length;
}

/** A reason that says the answer was cut takes precedence. */
export function joinReasons(known: string, next: string): string {
  if (known === "" || next === "") return known || next;
  const probe = { content: "", toolCalls: [], stopReason: next, model: "", complete: true };
  return isCut(probe) ? next : known;
}
