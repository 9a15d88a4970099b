/**
 * MessageBroadcaster sends listeners the messages of all runs (T-1.1): recorded ones once they are durable, and what is live.
 *
 * B1. Without a listener it does nothing: it follows no run and holds nothing.
 * B2. A listener that may speak for one sender hears only that sender's sessions.
 * B3. A listener only takes what it is given. A slow one is its connection's matter; no run ever waits for it.
 * B4. Who resumes gets what it missed from the journals, then what came meanwhile, each once. Live text is not repeated: of
 *     an answer under way the text so far is sent, and of what waits for a person the question.
 */
import type { WsMessage } from "../../kernel/journal/views/websocket-messages.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Sender } from "../../runtime/operations/operation.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { newId, type RandomBytes } from "../../runtime/ports/randomness.ts";
import type { PlacedRun, Store } from "../../runtime/ports/store.ts";
import type { StoredSession } from "../../runtime/ports/stored-session.ts";
import { COMPACTION_SOURCE } from "../../runtime/run/run-rules.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { followRun } from "../runs/follow-run.ts";
import { maySee, ownerOf } from "../sessions/session-owner.ts";
import { LiveAnswer } from "./live-answer.ts";
import { decodeCursor, type Place, Progress } from "./progress.ts";
import { questionMessage } from "./question-message.ts";
import { readMissed } from "./read-missed.ts";
import { type RunMessageParts, RunMessages } from "./run-messages.ts";

export interface BroadcasterParts extends RunMessageParts {
  readonly store: Store;
  readonly runtime: () => Pick<Runtime, "watch" | "isUnpublished" | "approvals">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: RandomBytes;
  readonly onDefect: (error: unknown) => void;
}

export interface Listener {
  /** Null: hears everything. */
  readonly sender: Sender | null;
  /** The bytes of the message are made once for all who hear it. */
  hear(message: WsMessage, bytes: () => Uint8Array): void;
  /** Nothing more is sent; the client comes back with its cursor. */
  broken(): void;
}

/** Of a run, or of the home. */
type Owner = Sender | null;

interface Followed {
  readonly run: PlacedRun;
  readonly owner: Owner;
  readonly stop: AbortController;
  readonly answer: LiveAnswer;
}

interface Sent {
  readonly owner: Owner;
  readonly message: WsMessage;
}

interface Subscriber extends Listener {
  /** While it catches up. */
  held: Sent[] | null;
}

const PAGE = 500;
const MAX_QUESTIONS = 100;

export class MessageBroadcaster {
  readonly #parts: BroadcasterParts;
  readonly #subscribers = new Set<Subscriber>();
  readonly #followed = new Map<RunId, Followed | null>();
  #progress = new Progress(0);
  /** Settles when it knows which runs are under way. */
  #ready: Promise<void> | null = null;
  #isClosed = false;

  constructor(parts: BroadcasterParts) {
    this.#parts = parts;
  }

  /** A run was accepted, or goes on. */
  published(runId: RunId): void {
    if (this.#ready !== null) this.#follow(runId);
  }

  asked(card: ApprovalCard): void {
    if (this.#subscribers.size > 0) this.#run(this.#sendQuestion(card));
  }

  /** Live, to all who hear of the session. */
  async sendOf(sessionId: SessionId, contentOf: (session: StoredSession) => Content): Promise<void> {
    if (this.#subscribers.size === 0) return;
    const session = await this.#parts.store.findSession(sessionId);
    if (session !== null) this.#send(ownerOf(session), this.#live(contentOf(session)));
  }

  /** Live, to those who hear everything. */
  sendToOperators(content: Content): void {
    if (this.#subscribers.size > 0) this.#send(null, this.#live(content));
  }

  /** From now on, or from behind the cursor. Returns how to end it. */
  async listen(listener: Listener, cursor: string | null): Promise<() => void> {
    const subscriber: Subscriber = { ...listener, held: [] };
    const leave = (): void => {
      this.#subscribers.delete(subscriber);
      if (this.#subscribers.size === 0) this.#rest();
    };
    if (this.#isClosed) {
      listener.broken();
      return () => {};
    }
    this.#subscribers.add(subscriber);
    try {
      this.#ready ??= this.#begin();
      await this.#ready;
      // What is under way stands between what was missed and what comes.
      const soFar = [...this.#followed.values()].flatMap((each) => (each === null ? [] : this.#soFar(each)));
      subscriber.held = [...soFar, ...(subscriber.held ?? []).filter(({ message }) => !isLiveText(message))];
      const missed = cursor === null ? NOTHING_MISSED : await this.#resume(subscriber, cursor);
      await this.#sendQuestions(subscriber);
      for (const sent of subscriber.held ?? []) {
        if (!wasSent(missed, sent.message)) this.#give(subscriber, sent);
      }
      subscriber.held = null;
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const { broken } of [...this.#subscribers]) broken();
    this.#subscribers.clear();
    this.#rest();
  }

  #rest(): void {
    for (const followed of this.#followed.values()) followed?.stop.abort();
    this.#followed.clear();
    this.#ready = null;
  }

  /** The runs under way: of the past nothing is sent. */
  async #begin(): Promise<void> {
    const { store } = this.#parts;
    const newest = (await store.listRuns({ limit: 1, offset: 0 })).runs[0];
    const last = newest === undefined ? null : await store.findRun(newest.runId);
    const progress = new Progress(last?.position ?? 0);
    const running: RunId[] = [];
    for (let after = 0; ; ) {
      const page = await store.openRuns(after, PAGE);
      for (const run of page) {
        after = run.position;
        const head = run.status === "queued" ? null : await store.headOf(run.runId);
        if (head === null) progress.await(run.position);
        else progress.begin(run.runId, run.position, head.seq);
        if (run.status === "running") running.push(run.runId);
      }
      if (page.length < PAGE) break;
    }
    this.#progress = progress;
    for (const runId of running) this.#follow(runId);
  }

  #follow(runId: RunId): void {
    if (this.#followed.has(runId)) return;
    this.#followed.set(runId, null);
    this.#run(this.#sendRun(runId, this.#ready));
  }

  async #sendRun(runId: RunId, ready: Promise<void> | null): Promise<void> {
    const { store, runtime } = this.#parts;
    await ready;
    const run = await store.findRun(runId);
    const owner = run === null ? null : await this.#ownerOf(run.sessionId);
    // All listeners may have left, and others come, meanwhile.
    if (run === null || this.#ready !== ready || ready === null) return;
    const stop = new AbortController();
    const followed: Followed = { run, owner, stop, answer: new LiveAnswer(run) };
    this.#followed.set(runId, followed);
    this.#progress.begin(runId, run.position);
    const isQuiet = run.source === COMPACTION_SOURCE;
    const messages = new RunMessages(this.#parts, run);
    for await (const happening of followRun(store, runtime(), runId, stop.signal)) {
      if (happening.kind === "recorded") {
        const { entry, items } = happening;
        const isNews = !isQuiet && this.#progress.isBehind(runId, { seq: entry.seq, sent: 1 });
        const sent = await messages.next(entry, items, isNews);
        if (stop.signal.aborted) return;
        for (const { message, place } of sent) this.#sendRecorded(followed, message, place);
        if (entry.kind === "TERMINATE") this.#progress.end(runId);
      } else if (!isQuiet && run.parentRunId === null && happening.kind === "delta") {
        this.#send(owner, this.#stamped(followed.answer.write(happening)));
      } else if (happening.kind === "output") {
        const { callId, stream, offset, text: content, step } = happening;
        const payload = { sessionId: run.sessionId, runId, callId, stream, offset, content };
        const id = `msg_${runId}_${step}_${callId}_${stream}_${offset}`;
        this.#send(owner, this.#stamped({ id, type: "tool.stream", payload }));
      }
    }
    if (this.#followed.get(runId) === followed) this.#followed.delete(runId);
  }

  #sendRecorded(followed: Followed, message: WsMessage, place: Place): void {
    const { run, owner, answer } = followed;
    this.#progress.reach(run.runId, place);
    if (message.type === "agent.response.end") this.#progress.end(run.runId);
    const rest = answer.restOf(message);
    if (rest !== null) this.#send(owner, rest, true);
  }

  /** A cursor beside it: a client that was sent this comes back with it. */
  #send(owner: Owner, message: WsMessage, isRecorded = false): void {
    const { homeId } = this.#parts.store;
    const cursor = isRecorded ? this.#progress.encode(homeId) : null;
    const whole = cursor === null ? message : { ...message, cursor };
    const bytes = once(() => Buffer.from(JSON.stringify(whole)));
    for (const subscriber of this.#subscribers) {
      if (!maySee(subscriber.sender, owner)) continue;
      // One sender's cursor names only its own runs.
      const isOwn = subscriber.sender !== null && cursor !== null;
      const heard = isOwn ? withCursor(message, this.#ownCursor(owner)) : whole;
      if (subscriber.held !== null) subscriber.held.push({ owner, message: heard });
      else subscriber.hear(heard, isOwn ? () => Buffer.from(JSON.stringify(heard)) : bytes);
    }
  }

  #ownCursor(owner: Owner): string | null {
    const isOwn = (runId: RunId): boolean => {
      const other = this.#followed.get(runId)?.owner ?? null;
      return other !== null && maySee(owner, other);
    };
    return this.#progress.encode(this.#parts.store.homeId, isOwn);
  }

  #give(subscriber: Subscriber, { owner, message }: Sent, isOwn = false): void {
    if (isOwn || maySee(subscriber.sender, owner)) subscriber.hear(message, () => Buffer.from(JSON.stringify(message)));
  }

  async #resume(subscriber: Subscriber, cursor: string): Promise<Missed> {
    const { homeId } = this.#parts.store;
    const progress = decodeCursor(cursor, homeId);
    const missed = progress === null ? null : await readMissed(this.#parts, progress);
    if (progress === null || missed === null) {
      const message = "This cursor is not known here, or too old: what happened meanwhile is in GET /v1/runs.";
      this.#give(subscriber, { owner: null, message: this.#live(errorContent("cursor.unknown", message)) }, true);
      return NOTHING_MISSED;
    }
    const ids = new Set<string>();
    const ended = new Set<string>();
    // Those that the client named, and those it may hear.
    const own = new Set(progress.begun.keys());
    for (const { run, message, place } of missed) {
      const owner = await this.#ownerOf(run.sessionId);
      if (!maySee(subscriber.sender, owner)) continue;
      own.add(run.runId);
      progress.begin(run.runId, run.position);
      progress.reach(run.runId, place);
      ids.add(message.id);
      if (message.type === "agent.response.end") {
        progress.end(run.runId);
        ended.add(run.runId);
      }
      const at = progress.encode(homeId, (runId) => own.has(runId));
      this.#give(subscriber, { owner, message: withCursor(message, at) });
    }
    return { ids, ended };
  }

  #soFar({ owner, answer }: Followed): readonly Sent[] {
    const text = answer.soFar();
    return text === null ? [] : [{ owner, message: this.#stamped(text) }];
  }

  async #sendQuestions(subscriber: Subscriber): Promise<void> {
    const cards = await this.#parts.runtime().approvals.pending({ limit: MAX_QUESTIONS, offset: 0 });
    for (const card of cards) {
      const owner = await this.#ownerOf(card.sessionId);
      this.#give(subscriber, { owner, message: this.#stamped(await questionMessage(this.#parts.store, card)) });
    }
  }

  async #sendQuestion(card: ApprovalCard): Promise<void> {
    const owner = await this.#ownerOf(card.sessionId);
    this.#send(owner, this.#stamped(await questionMessage(this.#parts.store, card)));
  }

  async #ownerOf(sessionId: SessionId): Promise<Owner> {
    const session = await this.#parts.store.findSession(sessionId);
    return session === null ? null : ownerOf(session);
  }

  #live(content: Content): WsMessage {
    return this.#stamped({ id: newId("msg", this.#parts.random), ...content });
  }

  #stamped<Message extends Unstamped>(message: Message): WsMessage {
    return { ...message, timestamp: this.#parts.clock.nowMs() } as unknown as WsMessage;
  }

  /** A damaged journal is sent by those who read it; the others go on. */
  #run(task: Promise<void>): void {
    task.catch((error: unknown) => {
      if (!this.#isClosed) this.#parts.onDefect(error);
    });
  }
}

/** What a client was sent while it caught up. */
interface Missed {
  readonly ids: ReadonlySet<string>;
  /** Runs whose end it has. */
  readonly ended: ReadonlySet<string>;
}

const NOTHING_MISSED: Missed = { ids: new Set(), ended: new Set() };

function wasSent({ ids, ended }: Missed, { id, payload }: WsMessage): boolean {
  return ids.has(id) || ("runId" in payload && typeof payload.runId === "string" && ended.has(payload.runId));
}

type Distributed<Message> = Message extends WsMessage ? Omit<Message, "timestamp" | "cursor"> : never;
export type Unstamped = Distributed<WsMessage>;
type DistributedContent<Message> = Message extends WsMessage ? Pick<Message, "type" | "payload"> : never;
export type Content = DistributedContent<WsMessage>;

function errorContent(code: string, message: string): Content {
  return { type: "error", payload: { code, message } };
}

function isLiveText({ type, cursor }: WsMessage): boolean {
  return type === "agent.response" && cursor === undefined;
}

function withCursor(message: WsMessage, cursor: string | null): WsMessage {
  return cursor === null ? message : { ...message, cursor };
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
