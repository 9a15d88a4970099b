/** An answer while it comes in, as far as all wire protocols agree about it. */
import { isCut, type RawModelOutput } from "../../kernel/protocol/raw-model-output.ts";
import type { ModelUsage, Thoughts } from "../../runtime/ports/model-backend.ts";
import type { Fault } from "./provider-fault.ts";

export interface AnswerDraft {
  readonly content: string;
  /** What `content` grew by when it last grew: to cut it off there would copy the whole answer for each piece of it. */
  readonly added: string;
  /** What the model thought before it answered: never a part of the answer. */
  readonly reasoning: string;
  readonly stopReason: string;
  readonly model: string;
  readonly usage: ModelUsage | null;
  /** Characters of what was written, of whatever kind: text, thoughts, calls. */
  readonly chars: number;
  /** Pieces that held something of the answer. */
  readonly pieces: number;
  /** The provider said that this was all. */
  readonly isDone: boolean;
  /** The provider told of an error instead of an answer, or in the middle of one. */
  readonly failure: Fault | null;
  /** What came is not this protocol; no later piece mends it. */
  readonly isUnreadable: boolean;
}

/** How a wire protocol is read; its functions are pure. */
export interface AnswerProtocol<Draft extends AnswerDraft> {
  readonly empty: Draft;
  /** Takes the payload of one event of a stream. */
  step(draft: Draft, payload: string): Draft;
  /** Reads a response that was not streamed. */
  readWhole(body: string): Draft;
  rawOutputOf(draft: Draft, hasEnded: boolean): RawModelOutput;
  /** What the provider will want back with the answer's calls; null where there is nothing. */
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

/** What stands for the answer of a model that refused, and neither it nor its provider said a word. */
export const REFUSED = "The model refused to answer.";

export function isOver({ isDone, failure, isUnreadable }: AnswerDraft): boolean {
  return isDone || failure !== null || isUnreadable;
}

/** A model was named, or something came of it: from then on somebody has worked. An error alone, or a web page, is no answer. */
export function hasAnswered({ pieces, model, usage }: AnswerDraft): boolean {
  return pieces > 0 || model !== "" || usage !== null;
}

/** The provider's own words count along: what is too long is so wherever it stands. */
export function charsIn({ chars, model, stopReason }: AnswerDraft): number {
  return chars + model.length + stopReason.length;
}

/** Of several reasons to stop the one that tells of a cut stays. */
export function joinReasons(known: string, next: string): string {
  if (known === "" || next === "") return known || next;
  const told = { content: "", toolCalls: [], stopReason: next, model: "", complete: true };
  return isCut(told) ? next : known;
}
