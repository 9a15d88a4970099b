/**
 * Takes over a conversation that another assistant held: a session under its key, with its turns as imported ones.
 *
 * I1. One transaction per conversation, with its entry in the ledger. What was imported once is not imported again.
 * I2. Everything that is stored goes through the redactor first.
 * I3. A key that leads to a session of this home keeps doing so; the imported one is found by its id.
 */
import { EMPTY_CHECKPOINT } from "../../kernel/protocol/checkpoint-state.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { cutText } from "../../kernel/vocabulary/cut-text.ts";
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import { asSessionId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import { notedIn } from "../../runtime/checkpoint/session-checkpoint.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import { newId, type RandomBytes } from "../../runtime/ports/randomness.ts";
import { type Store, StoreError, type Write } from "../../runtime/ports/store.ts";
import { DEFAULT_LIMITS } from "../context/context-limits.ts";
import { IMPORTED_LABELS, type ImportedTurn } from "../context/imported-turn.ts";
import { argsText, resultText, type TurnCall } from "../context/session-turn.ts";
import { type KeyParts, sessionKey } from "./session-key.ts";
import { MAX_TITLE_CHARS } from "./sessions.ts";

export interface ForeignCall {
  readonly tool: string;
  readonly args: JsonValue;
  readonly ok: boolean;
  readonly output: string;
}

export interface ForeignTurn {
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly asked: string;
  readonly calls: readonly ForeignCall[];
  /** Empty: there was no answer. */
  readonly answered: string;
}

export interface ForeignConversation {
  /** Names it among all conversations of all homes. */
  readonly source: string;
  readonly key: KeyParts;
  readonly title: string | null;
  /** What its own assistant condensed of it; empty: nothing. */
  readonly summary: string;
  /** Oldest first; at least one. */
  readonly turns: readonly ForeignTurn[];
}

export interface SessionImportParts {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: RandomBytes;
  readonly redactor: Redactor;
  /** A conversation was imported. */
  readonly onImported: () => void;
}

/** Far beyond what a person writes: a longer text is a file or a page. */
const MAX_WORDS_CHARS = 100_000;
const MAX_TOOL_CHARS = 64;

export type Imported = { readonly isNew: boolean; readonly sessionId: SessionId };

export class SessionImport {
  readonly #parts: SessionImportParts;

  constructor(parts: SessionImportParts) {
    this.#parts = parts;
  }

  /** The session that holds it already. */
  find(source: string): Promise<SessionId | null> {
    return this.#parts.store.findImport(source);
  }

  async import(conversation: ForeignConversation): Promise<Imported> {
    const { store, clock, random, onImported } = this.#parts;
    const known = await this.find(conversation.source);
    if (known !== null) return { isNew: false, sessionId: known };
    const sessionId = asSessionId(newId("session", random));
    const key = sessionKey(conversation.key);
    const isRouted = (await store.findSessionByKey(key)) === null;
    const ts = timestampOf(clock.nowMs());
    await store.commit(this.#writes(conversation, sessionId, key, isRouted, ts), "barrier");
    onImported();
    return { isNew: true, sessionId };
  }

  #writes(
    { source, key: { agentId, channel, peer: senderId }, title, summary, turns }: ForeignConversation,
    sessionId: SessionId,
    key: string,
    isRouted: boolean,
    ts: string,
  ): readonly Write[] {
    const [first, last] = [turns[0], turns.at(-1)];
    if (first === undefined || last === undefined)
      throw new StoreError("store.conflict", "There is nothing to import.");
    const createdAt = timestampOf(first.askedAt);
    const stored = turns.map((turn, at) => this.#turn(turn, at));
    const entry = {
      kind: "session.imported",
      ...{ ts, actor: "operator" },
      data: { sessionId, sourceHash: hashBytes(source), turns: turns.length },
    } as const;
    return [
      { type: "insert-session", session: { sessionId, agentId, key, channel, senderId, createdAt } },
      ...(title === null ? [] : [this.#titled(sessionId, title, ts)]),
      ...(isRouted ? [{ type: "route-session", sessionId, at: ts } as const] : []),
      {
        type: "import-turns",
        ...{ sessionId, source, activeAt: timestampOf(last.answeredAt), messages: turns.length * 2 },
        turns: stored.map((turn) => JSON.stringify(turn)),
      },
      ...(summary === "" ? [] : [this.#remembering(sessionId, summary, ts)]),
      { type: "append-ledger", draft: entry },
    ];
  }

  #titled(sessionId: SessionId, title: string, at: string): Write {
    return { type: "change-session", sessionId, title: cutText(this.#clean(title), MAX_TITLE_CHARS), settings: {}, at };
  }

  /** The other assistant's summary stands where a session remembers beside its messages. */
  #remembering(sessionId: SessionId, summary: string, updatedAt: string): Write {
    const noted = { ...notedIn(EMPTY_CHECKPOINT), episodeSummary: this.#clean(summary), labels: IMPORTED_LABELS };
    const checkpoint = { revision: 1, updatedAt, state: JSON.stringify(noted), summary: null, condensedThrough: 0 };
    return { type: "write-checkpoint", sessionId, checkpoint };
  }

  #turn({ askedAt, answeredAt, asked, calls, answered }: ForeignTurn, at: number): ImportedTurn {
    return {
      askedAt: timestampOf(askedAt),
      answeredAt: timestampOf(answeredAt),
      asked: asked === "" ? "(nothing was said)" : this.#clean(asked),
      calls: calls.map((call, index) => this.#call(call, `imported_${at + 1}_${index + 1}`)),
      answered: answered === "" ? "(no answer)" : this.#clean(answered),
    };
  }

  #call({ tool: name, args, ok, output }: ForeignCall, callId: string): TurnCall {
    const { redactor } = this.#parts;
    const tool = this.#clean(name)
      .replaceAll(/[^A-Za-z0-9_.-]/g, "_")
      .slice(0, MAX_TOOL_CHARS);
    const said = this.#clean(output);
    const texts = { tool, callId, summary: "", ...(ok ? { error: "", output: said } : { error: said, output: "" }) };
    const shown = argsText(redactor.redactJson(args).value, DEFAULT_LIMITS);
    return { callId, tool, ok, args: shown, result: resultText(texts, DEFAULT_LIMITS) };
  }

  #clean(text: string): string {
    // Cut after redaction: a cut secret would not be known.
    return cutText(this.#parts.redactor.redactText(text.toWellFormed()).text, MAX_WORDS_CHARS);
  }
}
