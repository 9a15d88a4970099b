/**
 * A conversation at a terminal: hands on what is written, and shows the runs it leads to, one after the other.
 *
 * V1. A message is accepted before the next one is sent, so they keep their order; it waits in the session's lane, not here.
 * V2. A message that was not accepted is said to be lost, with the reason; what was accepted is saved.
 */
import { parseChatCommand } from "../assistant/sessions/chat-command.ts";
import type { SessionRow } from "../assistant/sessions/session-view.ts";
import { asRunId, type RunId, type SessionId } from "../kernel/vocabulary/identifiers.ts";
import { exitCodeOf, type RunTerminal } from "./at-terminal.ts";
import { BootError, EXIT } from "./boot-error.ts";
import { valueIn } from "./connect-assistant.ts";

export interface ConversationParts {
  readonly terminal: RunTerminal;
  /** Null: the first message begins one. */
  readonly session: SessionRow | null;
  /** No person can be asked: calls that need an approval are denied. */
  readonly isUnattended: boolean;
  /** Prints the answer to a command. */
  readonly respond: (text: string) => void;
  /** The session is another one, or was changed. */
  readonly onSession: (session: SessionRow) => void;
  readonly onRuns: (runs: OpenRuns) => void;
  /** A message has its turn. */
  readonly onTurn: (text: string) => void;
  readonly leaving: AbortSignal;
}

export interface OpenRuns {
  readonly current: RunId | null;
  /** Messages behind it, and those on their way to be accepted. */
  readonly waiting: readonly string[];
}

export class Conversation {
  readonly #parts: ConversationParts;
  #sessionId: SessionId | null;
  #current: RunId | null = null;
  readonly #waiting: { readonly id: RunId; readonly text: string }[] = [];
  readonly #unsent: string[] = [];
  #sent: Promise<unknown> = Promise.resolve();
  #shown: Promise<void> = Promise.resolve();
  exitCode: number = EXIT.success;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#sessionId = parts.session?.id ?? null;
  }

  get current(): RunId | null {
    return this.#current;
  }

  /** Resolves once the message was accepted, or answered as a command. Rejects if it was not. */
  send(text: string): Promise<void> {
    if (!isCommand(text)) this.#unsent.push(text);
    this.#tell();
    const sent = this.#sent
      .then(() => this.#send(text))
      .catch((error: unknown) => {
        this.#forget(text);
        this.#tell();
        throw error;
      });
    this.#sent = sent.catch(() => {});
    return sent;
  }

  /** Until every message accepted so far has its answer. */
  async settled(): Promise<void> {
    await this.#sent;
    await this.#shown;
  }

  /** Asks the run at work to stop; false: there is none. */
  async stop(): Promise<boolean> {
    if (this.#current === null) return false;
    await this.#parts.terminal.operations.call("runs.cancel", { id: this.#current });
    return true;
  }

  async #send(text: string): Promise<void> {
    const { terminal, respond, isUnattended } = this.#parts;
    const { operations } = terminal;
    this.#sessionId ??= valueIn(await operations.call("sessions.create", { channel: "cli" }), hintFor).id;
    const unattended = isUnattended ? { unattended: true } : {};
    const received = valueIn(
      await operations.call("sessions.send", { id: this.#sessionId, text, ...unattended }),
      hintFor,
    );
    if (!("response" in received)) return this.#show(asRunId(received.id), text);
    respond(received.response);
    await this.#moveTo(received.session_id ?? this.#sessionId);
  }

  async #moveTo(id: string): Promise<void> {
    const { terminal, onSession } = this.#parts;
    this.#sessionId = id as SessionId;
    onSession(valueIn(await terminal.operations.call("sessions.get", { id: this.#sessionId }), hintFor));
  }

  #show(id: RunId, text: string): void {
    this.#forget(text);
    this.#waiting.push({ id, text });
    this.#tell();
    this.#shown = this.#shown.then(() => this.#showNext());
  }

  #forget(text: string): void {
    const at = this.#unsent.indexOf(text);
    if (at >= 0) this.#unsent.splice(at, 1);
  }

  async #showNext(): Promise<void> {
    const { terminal, leaving, onTurn } = this.#parts;
    const next = this.#waiting.shift();
    if (next === undefined || leaving.aborted) return;
    this.#current = next.id;
    onTurn(next.text);
    this.#tell();
    try {
      const record = await terminal.show(next.id, leaving);
      const code = exitCodeOf(record);
      if (code !== EXIT.success && record.outcome !== null) this.exitCode = code;
    } catch (error) {
      this.exitCode = EXIT.failure;
      if (!leaving.aborted) terminal.face.remark(wordsFor(error));
    } finally {
      this.#current = null;
      this.#tell();
    }
  }

  #tell(): void {
    this.#parts.onRuns({
      current: this.#current,
      waiting: [...this.#waiting.map(({ text }) => text), ...this.#unsent],
    });
  }
}

/** Answered at once, without a run. */
export function isCommand(text: string): boolean {
  return parseChatCommand(text) !== null;
}

export function wordsFor(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof BootError && error.hint !== "" ? `${message} ${error.hint}` : message;
}

function hintFor(code: string): string {
  return code === "not_found" ? "See surety sessions ls." : "See surety chat --help.";
}
