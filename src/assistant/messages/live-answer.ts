/**
 * The text of a run while its model writes, as pieces that a client puts one behind the other. When the answer is recorded,
 * only what is missing is sent: a client that knows nothing of attempts must not show it twice.
 */
import type { WsMessage } from "../../kernel/journal/views/websocket-messages.ts";
import type { StoredRun } from "../../runtime/ports/store.ts";

interface Piece {
  readonly attempt: number;
  readonly offset: number;
  readonly text: string;
}

export class LiveAnswer {
  readonly #run: Pick<StoredRun, "runId" | "sessionId">;
  #attempt = 0;
  #text = "";

  constructor(run: Pick<StoredRun, "runId" | "sessionId">) {
    this.#run = run;
  }

  write({ attempt, offset, text }: Piece) {
    this.#text = attempt === this.#attempt ? this.#text.slice(0, offset) + text : text;
    this.#attempt = attempt;
    return this.#piece(offset, text);
  }

  /** For those who come late; null while nothing was written. */
  soFar() {
    return this.#text === "" ? null : this.#piece(0, this.#text);
  }

  /** What is to be sent of a recorded message; null if the client has it. */
  restOf(message: WsMessage): WsMessage | null {
    if (message.type === "tool.call") this.#text = "";
    if (message.type !== "agent.response" || this.#text === "") return message;
    const { content } = message.payload;
    const isContinued = content.startsWith(this.#text);
    const hasIt = this.#text.startsWith(content) && this.#text.slice(content.length).trim() === "";
    const offset = isContinued ? this.#text.length : 0;
    this.#text = "";
    if (hasIt) return null;
    return {
      ...message,
      payload: { ...message.payload, content: content.slice(offset), attempt: this.#attempt, offset },
    };
  }

  #piece(offset: number, content: string) {
    const { runId, sessionId } = this.#run;
    const attempt = this.#attempt;
    const id = `msg_${runId}_text_${attempt}_${offset}`;
    return { id, type: "agent.response" as const, payload: { sessionId, runId, content, attempt, offset } };
  }
}
