/**
 * The text of a run as one text that only grows: a client of this API cannot take anything back. What a model says beside its
 * calls comes first, each saying in a paragraph of its own; the answer is last.
 */
export class AnswerText {
  #attempt = 0;
  /** Of the attempt, as the client has it. */
  #shown = "";
  #isEmpty = true;

  /** Returns what is to be shown. */
  write({
    attempt,
    offset,
    text,
  }: {
    readonly attempt: number;
    readonly offset: number;
    readonly text: string;
  }): string {
    const isOther = attempt !== this.#attempt;
    if (isOther) this.#shown = "";
    this.#attempt = attempt;
    const known = this.#shown.slice(offset);
    if (!isOther && text.startsWith(known) && offset <= this.#shown.length) return this.#add(text.slice(known.length));
    // A gap: the answer as recorded fills it at the end.
    if (offset > 0) return "";
    if (!isOther && known.startsWith(text)) return "";
    this.#shown = "";
    return this.#add(text);
  }

  /** Returns what is missing of the answer. */
  finish(answer: string): string {
    if (answer.startsWith(this.#shown)) return this.#add(answer.slice(this.#shown.length));
    if (this.#shown.startsWith(answer) && this.#shown.slice(answer.length).trim() === "") return "";
    this.#shown = "";
    return this.#add(answer);
  }

  #add(text: string): string {
    if (text === "") return "";
    const separator = this.#shown === "" && !this.#isEmpty ? "\n\n" : "";
    this.#shown += text;
    this.#isEmpty = false;
    return separator + text;
  }
}
