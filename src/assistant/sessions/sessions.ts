/**
 * Sessions: lasting conversations, found by key or id (T-2, P-5.1). A session is a row and the runs that name it; nothing of
 * it is held in memory, so an idle one costs nothing and is resumed by reading it. Its state follows from when it was last
 * written to.
 */
import { asRunId, asSessionId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Capabilities } from "../../runtime/capabilities/capabilities.ts";
import { readCheckpoint } from "../../runtime/checkpoint/session-checkpoint.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import { newId, type RandomBytes } from "../../runtime/ports/randomness.ts";
import { type Page, type Store, StoreError } from "../../runtime/ports/store.ts";
import type { NewSession, RunRange, SessionFilter, StoredSession } from "../../runtime/ports/stored-session.ts";
import { firstWords, messageOfRun } from "../../runtime/run/message-of-run.ts";
import { SESSION_FORGED } from "../../runtime/sessions/session-rules.ts";
import type { LimitsOf } from "../context/context-limits.ts";
import { importedPosition } from "../context/imported-turn.ts";
import { LATEST, type SessionContext } from "../context/session-context.ts";
import { sessionKey } from "./session-key.ts";
import {
  messagesOf,
  type OpenRun,
  type SessionMessage,
  type SessionRow,
  sessionRow,
  turnOfMessage,
  wireCheckpoint,
} from "./session-view.ts";

export interface SessionsParts {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: RandomBytes;
  readonly context: Pick<SessionContext, "turns">;
  readonly capabilities: Pick<Capabilities, "of">;
  readonly limitsOf: LimitsOf;
  readonly idleMs: number;
  readonly onCreated?: (session: NewSession) => void;
  readonly onDefect: (error: unknown) => void;
  /** The model of an agent's next run, for display. */
  readonly modelOf: (agentId: string) => string;
}

export type NewSessionOrigin = Pick<NewSession, "agentId" | "key" | "channel" | "senderId">;

export const MAX_TITLE_CHARS = 200;
/** That are shown; more can only wait behind them. */
const MAX_OPEN_RUNS = 50;

export class Sessions {
  readonly #parts: SessionsParts;

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  find(sessionId: SessionId): Promise<StoredSession | null> {
    return this.#parts.store.findSession(sessionId);
  }

  /** The session that the key leads to. If another program changed where it leads, it leads nowhere. */
  async findByKey(key: string): Promise<StoredSession | null> {
    const session = await this.#parts.store.findSessionByKey(key);
    if (session === null || !session.isForged) return session;
    this.#parts.onDefect(new StoreError("store.corrupt", `${session.sessionId}: ${SESSION_FORGED}`));
    return null;
  }

  /** Not stored yet: its first run, or `create`, does that. */
  draft(origin: NewSessionOrigin): Omit<NewSession, "createdAt"> {
    return { sessionId: asSessionId(newId("session", this.#parts.random)), ...origin };
  }

  /** A new session; its key leads to it from now on. */
  async create(origin: NewSessionOrigin, title: string | null = null): Promise<SessionId> {
    const { store, clock } = this.#parts;
    const at = timestampOf(clock.nowMs());
    const session = { ...this.draft(origin), createdAt: at };
    const { sessionId } = session;
    await store.commit(
      [
        { type: "insert-session", session },
        { type: "route-session", sessionId, at },
        ...(title === null ? [] : [{ type: "change-session", sessionId, title, settings: {}, at } as const]),
      ],
      "barrier",
    );
    this.#parts.onCreated?.(session);
    return sessionId;
  }

  /** A session without messages, of the person at this machine. */
  createLocal(agentId: string, channel: string, title: string | null): Promise<SessionId> {
    const key = sessionKey({ agentId, channel, kind: "dm", peer: "operator" });
    return this.create({ agentId, key, channel, senderId: "operator" }, title);
  }

  /** The session's key leads to it again. */
  async route(sessionId: SessionId): Promise<void> {
    const { store, clock } = this.#parts;
    await store.commit([{ type: "route-session", sessionId, at: timestampOf(clock.nowMs()) }], "barrier");
  }

  async change(
    { sessionId, title, settings }: StoredSession,
    change: Partial<Pick<StoredSession, "title" | "settings">>,
  ): Promise<void> {
    const { store, clock } = this.#parts;
    const at = timestampOf(clock.nowMs());
    await store.commit([{ type: "change-session", sessionId, title, settings, at, ...change }], "barrier");
  }

  async list(
    filter: SessionFilter,
    page: Page,
  ): Promise<{ readonly sessions: readonly SessionRow[]; readonly total: number }> {
    const { sessions, total } = await this.#parts.store.listSessions(filter, page);
    return { sessions: await Promise.all(sessions.map((session) => this.titledRow(session))), total };
  }

  /** Without a title of its own, under the first words of its first message. */
  async titledRow(session: StoredSession): Promise<SessionRow> {
    const row = this.row(session);
    if (row.title !== null) return row;
    const { store } = this.#parts;
    const first = await store.firstRunOf(session.sessionId);
    const message = first === null ? null : await messageOfRun(store, first);
    return { ...row, title: message === null ? null : firstWords(message) };
  }

  row(session: StoredSession): SessionRow {
    const { idleMs, clock, modelOf } = this.#parts;
    const model = session.settings.model ?? modelOf(session.agentId);
    return sessionRow({ session, idleMs, nowMs: clock.nowMs(), model });
  }

  /** The messages of the last turns in between, oldest first. */
  async messages(
    { sessionId, channel }: StoredSession,
    between: RunRange,
    turns: number,
  ): Promise<readonly SessionMessage[]> {
    return messagesOf(await this.#parts.context.turns(sessionId, between, turns), channel);
  }

  /** Where the turn of a message stands; of no message, behind the last. Null: it is not in this session. */
  async positionOf({ sessionId }: StoredSession, messageId: string | undefined): Promise<number | null> {
    if (messageId === undefined) return LATEST;
    const turnId = turnOfMessage(messageId);
    const imported = importedPosition(sessionId, turnId);
    if (imported !== null) return imported;
    const run = await this.#parts.store.findRun(asRunId(turnId));
    return run?.sessionId === sessionId ? run.position : null;
  }

  async #openRuns(sessionId: SessionId): Promise<readonly OpenRun[]> {
    const { store } = this.#parts;
    const open = await store.openRunsOf(sessionId, MAX_OPEN_RUNS);
    return await Promise.all(
      open.map(async (run) => ({
        id: run.runId,
        status: run.status,
        message: (await messageOfRun(store, run)) ?? "",
        createdAt: Date.parse(run.createdAt),
      })),
    );
  }

  /** With the messages of the last turns before a position. */
  async show(session: StoredSession, before: number, turns: number) {
    const { sessionId } = session;
    const { store, capabilities } = this.#parts;
    const checkpoint = await readCheckpoint(store, sessionId);
    const held = await capabilities.of(sessionId);
    const { granted, pending } = held.ok ? held.capabilities : { granted: [], pending: [] };
    const names = {
      granted: granted.map(({ capability }) => capability),
      pending: pending.map(({ capability }) => capability),
    };
    const recent = { after: checkpoint.condensedThrough, before: LATEST };
    const { context, limitsOf } = this.#parts;
    // At most as many as a model is sent.
    const recentTurns = await context.turns(sessionId, recent, limitsOf(session.agentId).maxTurns);
    return {
      ...(await this.titledRow(session)),
      messages: [...(await this.messages(session, { after: 0, before }, turns))],
      openRuns: [...(await this.#openRuns(sessionId))],
      checkpoint: wireCheckpoint(sessionId, checkpoint, names, recentTurns),
    };
  }
}
