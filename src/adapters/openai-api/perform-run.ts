/**
 * A request as a run: accepted like any other, followed to its end.
 *
 * P1. Without a session a run belongs to its request: when the client leaves before the end, it is cancelled. The answer to a
 *     message of a session stays in the session, so that run goes on.
 * P2. A gateway that stops cancels nothing: the run continues with the next start.
 * P3. A run that has said nothing yet can still fail as an HTTP error; so a stream begins with its first text, or with the
 *     first heartbeat.
 */
import type { OperationClient } from "../../assistant/operations.ts";
import type { RunInput } from "../../assistant/runs/run-request.ts";
import type { RunUpdate } from "../../assistant/runs/run-updates.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { GATEWAY_STOPPING } from "../../runtime/operations/mount.ts";
import type { Caller } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { AnswerText } from "./answer-text.ts";
import { ApiError, failureOf, NOT_AGAIN, refusedBy } from "./openai-error.ts";

/** What was asked for, read and checked. */
export interface Asked {
  readonly run: RunInput;
  /** Whose conversation goes on; null: none. */
  readonly user: string | null;
}

export interface Answer {
  /** Null: a command was answered, without a run. */
  readonly runId: RunId | null;
  readonly output: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export type Progress =
  /** Pieces in their order are what is shown. */
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "heartbeat" }
  | { readonly kind: "done"; readonly answer: Answer };

export interface Performance {
  readonly runId: RunId | null;
  readonly sessionId: string | null;
  /** Ends with `done`, or throws an ApiError. */
  readonly progress: AsyncIterableIterator<Progress, void>;
}

export interface Performer {
  readonly operations: OperationClient;
  readonly clock: Pick<Clock, "nowMs" | "wake">;
}

/** Proxies close what is silent for half a minute; a run may wait for an approval for ten. */
const HEARTBEAT_MS = 10_000;

export async function perform(
  { operations, clock }: Performer,
  asked: Asked,
  caller: Caller,
  signal: AbortSignal,
): Promise<Performance> {
  const accepted = await accept(operations, asked, caller);
  if ("response" in accepted) {
    const { response: output, session_id: sessionId = null } = accepted;
    const answer = { runId: null, output, inputTokens: 0, outputTokens: 0 };
    const pieces: readonly Progress[] = [
      { kind: "text", text: output },
      { kind: "done", answer },
    ];
    return { runId: null, sessionId, progress: ReadableStream.from(pieces).values() };
  }
  const { id: runId, session_id: sessionId } = accepted;
  const isOwn = asked.user === null && asked.run.session_id === undefined;
  return { runId, sessionId, progress: follow({ operations, clock }, { runId, isOwn }, caller, signal) };
}

async function accept(operations: OperationClient, { run, user }: Asked, caller: Caller) {
  if (user === null) {
    const created = await operations.call("runs.create", run, caller);
    if (!created.ok) throw refusedBy(created);
    return created.value;
  }
  const { session_id: _session, instructions: _instructions, history: _history, approved_tools: _tools, ...said } = run;
  const received = await operations.call("chat.send", { ...said, user_id: user }, caller);
  if (!received.ok) throw refusedBy(received);
  return received.value;
}

async function* follow(
  { operations, clock }: Performer,
  { runId, isOwn }: { readonly runId: RunId; readonly isOwn: boolean },
  caller: Caller,
  signal: AbortSignal,
): AsyncGenerator<Progress, void> {
  let hasEnded = false;
  const onLeft = (): void => {
    if (hasEnded || !isOwn || signal.reason === GATEWAY_STOPPING) return;
    // A run that cannot be cancelled now goes on; its record says how it ended.
    operations.call("runs.cancel", { id: runId }, caller).catch(() => {});
  };
  signal.addEventListener("abort", onLeft);
  if (signal.aborted) onLeft();
  try {
    const text = new AnswerText();
    const subscription = await operations.subscribe("runs.events", { id: runId }, null, signal, caller);
    if (!subscription.ok) throw refusedBy(subscription);
    for await (const update of withHeartbeats(subscription.updates, clock)) {
      const piece = update !== null && update.kind === "delta" ? text.write(update) : "";
      if (update === null) yield { kind: "heartbeat" };
      else if (piece !== "") yield { kind: "text", text: piece };
    }
    const read = await operations.call("runs.get", { id: runId }, caller);
    if (!read.ok) throw refusedBy(read);
    const record = read.value;
    if (record.outcome === null) throw interrupted(runId);
    hasEnded = true;
    const failure = failureOf(record);
    if (failure !== null) throw failure;
    const rest = text.finish(record.output);
    if (rest !== "") yield { kind: "text", text: rest };
    yield { kind: "done", answer: answerOf(runId, record) };
  } finally {
    signal.removeEventListener("abort", onLeft);
  }
}

function answerOf(runId: RunId, { output, usage }: RunRecord): Answer {
  const { input_tokens: inputTokens, output_tokens: outputTokens } = usage ?? { input_tokens: 0, output_tokens: 0 };
  return { runId, output, inputTokens, outputTokens };
}

function interrupted(runId: RunId): ApiError {
  const message = `The gateway stops. The run ${runId} is saved and goes on when it starts again: see GET /v1/runs/${runId}.`;
  return new ApiError(503, { message, code: "gateway.stopping" }, NOT_AGAIN);
}

/** Null is a heartbeat. */
async function* withHeartbeats(
  updates: AsyncIterable<RunUpdate>,
  clock: Pick<Clock, "wake">,
): AsyncGenerator<RunUpdate | null, void> {
  const iterator = updates[Symbol.asyncIterator]();
  let next = iterator.next();
  for (;;) {
    const beat = Promise.withResolvers<null>();
    const cancel = clock.wake(HEARTBEAT_MS, () => beat.resolve(null));
    const result = await Promise.race([next, beat.promise]).finally(cancel);
    if (result === null) yield null;
    else if (result.done === true) return;
    else {
      yield result.value;
      next = iterator.next();
    }
  }
}
