/**
 * The part of an answer that may be shown while the model writes: inline reasoning → the text of a document → markers →
 * token gate → disclosure guard → redaction.
 *
 * Under a token gate nothing is shown before a validated call was performed (M-F); an attempt cannot perform one, so the
 * gate stays closed for the whole attempt. Deltas carry attempt and offset and are never stored.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import { readsDocuments } from "../../kernel/protocol/adapter-for.ts";
import { compose } from "../../kernel/protocol/release/compose.ts";
import { documentText } from "../../kernel/protocol/release/document-text.ts";
import { markerStripper } from "../../kernel/protocol/release/marker-stripper.ts";
import { thoughtStripper } from "../../kernel/protocol/release/thought-stripper.ts";
import type { DisclosureGuard } from "../../kernel/redaction/disclosure-guard.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";
import type { Transducer } from "../../kernel/vocabulary/transducer.ts";

export interface Delta {
  readonly attempt: number;
  readonly offset: number;
  readonly text: string;
}

/** An attempt's text: released when a watcher reads it, since most of it has none. */
export class LiveText {
  readonly attempt: number;
  readonly #stagesOf: () => Stages;
  /** Set up by the first reader. */
  #flow: Flow | null = null;
  #unread = "";
  #released = "";
  #isFinished = false;

  constructor(
    { attempt }: { readonly attempt: number },
    { adapterVersion }: Pick<ExecutionContract, "adapterVersion">,
    guard: DisclosureGuard,
    redactor: Redactor,
  ) {
    this.attempt = attempt;
    this.#stagesOf = () => stagesOf(readsDocuments(adapterVersion) ? DOCUMENT : thoughtStripper, guard, redactor);
  }

  push(text: string): void {
    this.#unread += text;
  }

  /** The answer is complete: what the stages held back may be released. */
  finish(): void {
    this.#isFinished = true;
  }

  /** What was not read before. */
  readNext(): Delta | null {
    const offset = this.#released.length;
    this.#release();
    return this.#since(offset);
  }

  /** For a watcher that came late: from the beginning. */
  readAll(): Delta | null {
    this.#release();
    return this.#since(0);
  }

  #release(): void {
    if (this.#unread !== "") {
      this.#flow ??= begin(this.#stagesOf());
      const [next, text] = this.#flow.stages.push(this.#flow.state, this.#unread);
      this.#flow.state = next;
      this.#unread = "";
      this.#released += text;
    }
    if (!this.#isFinished || this.#flow === null) return;
    this.#released += this.#flow.stages.finish(this.#flow.state);
    this.#flow = null;
  }

  #since(offset: number): Delta | null {
    const text = this.#released.slice(offset);
    return text === "" ? null : { attempt: this.attempt, offset, text };
  }
}

type Stages = ReturnType<typeof stagesOf>;
type Flow = ReturnType<typeof begin>;

const begin = (stages: Stages) => ({ stages, state: stages.start() });

const DOCUMENT = compose(thoughtStripper, documentText);

const stagesOf = (first: typeof DOCUMENT | typeof thoughtStripper, guard: DisclosureGuard, redactor: Redactor) =>
  compose(compose(compose(first as Transducer<string, string, unknown>, markerStripper), guard), redactor.stream);
