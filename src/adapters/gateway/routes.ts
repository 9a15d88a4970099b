/**
 * Which path does what (design: HTTP). A path is matched as it was written: nothing is decoded or normalised on the
 * way to a handler, so no spelling of a path slips past the check of another.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Assistant } from "../../assistant/assistant.ts";
import { wireCapabilities, wirePending } from "../../assistant/wire-capabilities.ts";
import { wireCard } from "../../assistant/wire-card.ts";
import { asApprovalId, asHash, asRunId, type RunId } from "../../kernel/vocabulary/identifiers.ts";
import { accepted, HttpError, invalidRequest, notFound } from "./http-error.ts";
import { parseCapabilityDecision } from "./parse-capability-decision.ts";
import { parseCapabilityFilter, parseNothing, parsePage, parseRunFilter } from "./parse-query.ts";
import { parseRunRequest } from "./parse-run-request.ts";
import { readJson } from "./read-body.ts";
import { oneOf, readFields, required, text } from "./read-fields.ts";
import type { Head } from "./read-head.ts";
import { jsonReply, jsonTextReply, NOTHING_MORE, type Reply } from "./reply.ts";

/** Whoever holds the main token. */
const PRINCIPAL = "operator";
const DECISIONS = ["allow", "deny", "done", "retry", "fail"] as const;

export interface Call {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly head: Head;
  /** What the path names; empty where it names nothing. */
  readonly id: string;
  readonly query: string;
}

/** Answers with a run's news until it, the client or the gateway ends; null when there is nothing to watch. */
export type OpenStream = (
  outgoing: ServerResponse,
  watch: (signal: AbortSignal) => ReturnType<Assistant["watch"]>,
) => Promise<Reply | null>;

type Handler = (call: Call) => Promise<Reply>;

export interface Route {
  /** Open to everybody who may come in at all. */
  readonly isPublic: boolean;
  readonly methods: ReadonlyMap<string, Handler>;
}

export type FindRoute = (path: string) => { readonly route: Route; readonly id: string } | null;

export function createRoutes(assistant: Assistant, openStream: OpenStream, isHealthy: () => boolean): FindRoute {
  const health = route(
    reading(() => Promise.resolve(isHealthy() ? jsonReply(200, { ok: true }) : jsonReply(503, { ok: false }))),
    true,
  );
  const fixed: ReadonlyMap<string, Route> = new Map([
    ["/healthz", health],
    ["/api/health", health],
    ["/v1/runs", route({ ...reading(listRuns(assistant)), POST: startRun(assistant) })],
    ["/api/approvals", route(reading(listApprovals(assistant)))],
    ["/api/marks", route({ ...reading(listMarks(assistant)), POST: removeMark(assistant) })],
    ["/api/capabilities", route({ ...reading(showCapabilities(assistant)), POST: decideCapability(assistant) })],
  ]);
  const named: readonly (readonly [pattern: RegExp, route: Route])[] = [
    [/^\/v1\/runs\/([\w-]{1,128})$/, route(reading(showRun(assistant)))],
    [/^\/v1\/runs\/([\w-]{1,128})\/events$/, route({ GET: watchRun(assistant, openStream) })],
    [/^\/v1\/runs\/([\w-]{1,128})\/cancel$/, route({ POST: cancelRun(assistant) })],
    [/^\/v1\/runs\/([\w-]{1,128})\/bundle$/, route(reading(exportRun(assistant)))],
    [/^\/api\/approvals\/([\w-]{1,128})$/, route({ POST: decideApproval(assistant) })],
  ];
  return (path) => {
    const exact = fixed.get(path);
    if (exact !== undefined) return { route: exact, id: "" };
    for (const [pattern, found] of named) {
      const id = pattern.exec(path)?.[1];
      if (id !== undefined) return { route: found, id };
    }
    return null;
  };
}

export function handlerOf(route: Route, method: string): Handler {
  const handler = route.methods.get(method);
  if (handler !== undefined) return handler;
  const allowed = [...route.methods.keys()].join(", ");
  throw new HttpError("method.not_allowed", `this path takes ${allowed}`, { headers: ["Allow", allowed] });
}

function route(handlers: Readonly<Record<string, Handler>>, isPublic = false): Route {
  return { isPublic, methods: new Map(Object.entries(handlers)) };
}

const reading = (handler: Handler): Readonly<Record<string, Handler>> => ({ GET: handler, HEAD: handler });

const startRun =
  (assistant: Assistant): Handler =>
  async ({ incoming, head }) => {
    const request = parseRunRequest(await readJson(incoming, head), head, PRINCIPAL);
    const { runId, status, sessionId, isRepeat } = accepted(await assistant.submit(request));
    const headers = isRepeat ? ["Idempotent-Replayed", "true"] : [];
    return jsonReply(202, { id: runId, status, session_id: sessionId }, headers);
  };

const listRuns =
  (assistant: Assistant): Handler =>
  async ({ query }) => {
    const filter = parseRunFilter(query);
    const { runs, total } = await assistant.runs(filter);
    return jsonReply(200, { runs, total, limit: filter.limit, offset: filter.offset });
  };

const showRun =
  (assistant: Assistant): Handler =>
  async ({ id }) => {
    const record = await assistant.run(asRunId(id));
    if (record === null) throw notFound("run");
    return jsonReply(200, record);
  };

const watchRun =
  (assistant: Assistant, openStream: OpenStream): Handler =>
  async ({ id, head, query, outgoing }) => {
    parseNothing(query);
    const after = head["last-event-id"] ?? "0";
    if (!/^[0-9]{1,15}$/.test(after)) throw invalidRequest("Last-Event-ID must be the number of an event");
    // A browser comes back after an empty stream, for ever; after this answer it does not.
    if (after !== "0" && (await wasHeardToItsEnd(assistant, asRunId(id), Number(after)))) return NOTHING_MORE;
    const reply = await openStream(outgoing, (signal) => assistant.watch(asRunId(id), Number(after), signal));
    if (reply === null) throw notFound("run");
    return reply;
  };

async function wasHeardToItsEnd(assistant: Assistant, runId: RunId, after: number): Promise<boolean> {
  const record = await assistant.run(runId);
  if (record === null || record.outcome === null) return false;
  for await (const _ of (await assistant.watch(runId, after, new AbortController().signal)) ?? []) return false;
  return true;
}

const cancelRun =
  (assistant: Assistant): Handler =>
  async ({ id }) => {
    const { status } = accepted(await assistant.cancel(asRunId(id), PRINCIPAL));
    return jsonReply(202, { id, status });
  };

const exportRun =
  (assistant: Assistant): Handler =>
  async ({ id }) =>
    jsonTextReply(200, accepted(await assistant.bundle(asRunId(id))).text);

const listApprovals =
  (assistant: Assistant): Handler =>
  async ({ query }) => {
    const cards = await assistant.approvals(parsePage(query));
    return jsonReply(200, { approvals: cards.map(wireCard) });
  };

const decideApproval =
  (assistant: Assistant): Handler =>
  async ({ id, incoming, head }) => {
    const fields = readFields(await readJson(incoming, head), "the body", ["decision", "plan_hash"]);
    const decision = required(fields, "decision", oneOf(DECISIONS));
    // Whatever is not the plan's hash is a wrong one, and the assistant says so.
    const planHash = required(fields, "plan_hash", text());
    accepted(
      await assistant.decide({ id: asApprovalId(id), decision, planHash: asHash(planHash), principal: PRINCIPAL }),
    );
    return jsonReply(200, { id, decision });
  };

const showCapabilities =
  (assistant: Assistant): Handler =>
  async ({ query }) => {
    const asked = parseCapabilityFilter(query);
    if (typeof asked === "object") return jsonReply(200, wirePending(await assistant.pendingCapabilities(asked)));
    const { capabilities } = accepted(await assistant.capabilities(asked));
    return jsonReply(200, wireCapabilities(asked, capabilities));
  };

const listMarks =
  (assistant: Assistant): Handler =>
  async ({ query }) => {
    parseNothing(query);
    return jsonReply(200, { marks: await assistant.marks() });
  };

const removeMark =
  (assistant: Assistant): Handler =>
  async ({ incoming, head }) => {
    const path = required(readFields(await readJson(incoming, head), "the body", ["remove"]), "remove", text());
    accepted(await assistant.removeMark(path, PRINCIPAL));
    return jsonReply(200, { marks: await assistant.marks() });
  };

const decideCapability =
  (assistant: Assistant): Handler =>
  async ({ incoming, head }) => {
    const decision = parseCapabilityDecision(await readJson(incoming, head), head, PRINCIPAL);
    const { capabilities } = accepted(await assistant.decideCapability(decision));
    return jsonReply(200, wireCapabilities(decision.sessionId, capabilities));
  };
