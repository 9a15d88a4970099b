/**
 * One WebSocket.
 *
 * C1. A client says `channel.message` and nothing else. Another type, a binary frame or what is no envelope at all ends the
 *     connection with 4403, after an `error`; a message of the right type that is wrong gets an `error` and the connection
 *     goes on: a person's mistake must not cut off the answer that is under way.
 * C2. Messages of one connection are taken one after the other; while too many wait, nothing more is read.
 * C3. A client that reads too slowly is cut off with 1013 and comes back with its cursor. What it did not read is at most
 *     MAX_UNREAD_BYTES and one message, and shared with all who hear the same.
 */
import type { RawData, WebSocket } from "ws";
import type { Conversations } from "../../../assistant/messages/messages.ts";
import {
  InboundMessageSchema,
  type WsInbound,
  type WsMessage,
} from "../../../kernel/journal/views/websocket-messages.ts";
import { type JsonValue, parseJson } from "../../../kernel/vocabulary/parse-json.ts";
import type { Grant } from "../../../runtime/access/grant.ts";
import { checkInput } from "../../../runtime/operations/check-value.ts";
import type { Clock } from "../../../runtime/ports/clock.ts";
import type { HttpError } from "../http-error.ts";

const MAX_UNREAD_BYTES = 1_048_576;
const MAX_WAITING = 16;
/** For the closing frame to be answered. */
const CLOSE_MS = 2_000;
const PROTOCOL_ERROR = 4403;
const OVERLOADED = 1013;
const RESTARTING = 1012;

interface SocketDependencies {
  readonly conversations: Conversations;
  readonly grant: Grant;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly report: (error: unknown) => HttpError;
}

type Content = Awaited<ReturnType<Conversations["receive"]>>[number];

export class SocketConnection {
  readonly #socket: WebSocket;
  readonly #parts: SocketDependencies;
  /** The end of the last message that was taken. */
  #turn: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isEnding = false;
  #isAlive = true;
  #leave = (): void => {};

  constructor(socket: WebSocket, parts: SocketDependencies) {
    this.#socket = socket;
    this.#parts = parts;
    socket.on("message", (data, isBinary) => this.#take(data, isBinary));
    socket.on("pong", () => {
      this.#isAlive = true;
    });
    // The library closes by itself, with the code of the mistake.
    socket.on("error", () => this.#closeSoon());
    socket.on("close", () => {
      this.#isEnding = true;
      this.#leave();
    });
  }

  /** Hears from now on, or from behind the cursor; only then is what it says taken, so that it hears what comes of it. */
  begin(cursor: string | null): void {
    this.#turn = this.#listen(cursor);
  }

  async #listen(cursor: string | null): Promise<void> {
    const { conversations, grant, report } = this.#parts;
    const listener = {
      sender: grant.sender,
      hear: (_message: WsMessage, bytes: () => Uint8Array) => this.#send(bytes()),
      broken: () => this.end("store.unavailable", "Storage is unavailable; come back with your cursor.", RESTARTING),
    };
    try {
      const leave = await conversations.listen(listener, cursor);
      if (this.#isEnding) leave();
      else this.#leave = leave;
    } catch (error) {
      const { code, message } = report(error);
      this.end(code, message, RESTARTING);
    }
  }

  /** Cut off if it has not answered the last one. */
  ping(): void {
    if (!this.#isAlive) this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }

  end(code: string, message: string, closeCode: number): void {
    if (this.#isEnding) return;
    this.#say({ type: "error", payload: { code, message } });
    this.#close(closeCode, code);
  }

  destroy(): void {
    this.#socket.terminate();
  }

  #take(data: RawData, isBinary: boolean): void {
    if (this.#isEnding) return;
    const read = readMessage(data, isBinary);
    if (!read.ok) {
      this.end("invalid.request", read.problem, PROTOCOL_ERROR);
      return;
    }
    this.#waiting += 1;
    if (this.#waiting === MAX_WAITING) this.#socket.pause();
    this.#turn = this.#turn.then(() => this.#answer(read.value));
  }

  async #answer(value: JsonValue): Promise<void> {
    const { conversations, grant, report } = this.#parts;
    try {
      const checked = checkInput(InboundMessageSchema, value, "the message");
      if (checked.ok) {
        const caller = { ...grant, idempotencyKey: null };
        for (const content of await conversations.receive(checked.value as WsInbound, caller)) this.#say(content);
      } else {
        this.#say(errorOf("invalid.request", checked.problem, idIn(value)));
      }
    } catch (error) {
      const { code, message } = report(error);
      this.#say(errorOf(code, message, idIn(value)));
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === MAX_WAITING - 1 && !this.#isEnding) this.#socket.resume();
    }
  }

  #say(content: Content): void {
    const { clock, newId } = this.#parts;
    this.#send(Buffer.from(JSON.stringify({ id: newId(), timestamp: clock.nowMs(), ...content })));
  }

  #send(bytes: Uint8Array): void {
    if (this.#isEnding) return;
    this.#socket.send(bytes, { binary: false });
    if (this.#socket.bufferedAmount > MAX_UNREAD_BYTES) this.#close(OVERLOADED, "too slow");
  }

  #close(code: number, reason: string): void {
    this.#isEnding = true;
    this.#leave();
    this.#socket.close(code, reason);
    this.#closeSoon();
  }

  #closeSoon(): void {
    const cancel = this.#parts.clock.wake(CLOSE_MS, () => this.#socket.terminate());
    this.#socket.once("close", cancel);
  }
}

type Read = { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly problem: string };

function readMessage(data: RawData, isBinary: boolean): Read {
  if (isBinary) return { ok: false, problem: "messages are text" };
  const parsed = parseJson(data.toString());
  if (!parsed.ok) return { ok: false, problem: `not valid JSON: ${parsed.problem} (at character ${parsed.at})` };
  const { value } = parsed;
  const isEnvelope = typeof value === "object" && value !== null && "type" in value && "payload" in value;
  if (!isEnvelope) return { ok: false, problem: "a message is {id, type, timestamp, payload}" };
  return value["type"] === "channel.message"
    ? { ok: true, value }
    : { ok: false, problem: "a client sends channel.message" };
}

function idIn(value: JsonValue): string | null {
  const id = typeof value === "object" && value !== null && "id" in value ? value["id"] : null;
  return typeof id === "string" && id.length <= 128 ? id : null;
}

function errorOf(code: string, message: string, messageId: string | null): Content {
  return { type: "error", payload: { code, message, ...(messageId === null ? {} : { messageId }) } };
}
