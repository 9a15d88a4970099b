/**
 * Everything a provider can do wrong, on either wire. Answers are streamed whatever was asked for, as some servers do, so
 * that they can break off after each event.
 */
import { startAnthropicServer } from "../loopback/anthropic-server.ts";
import type { ChatScript } from "../loopback/chat-wire.ts";
import * as chat from "../loopback/chat-wire.ts";
import * as messages from "../loopback/messages-wire.ts";
import { answer, html, json, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import type { ScriptedRequest, ScriptedServer, ServerOptions } from "../loopback/scripted-server.ts";
import { EFFECT_TOOLS } from "./effect-tools.ts";

export interface FaultyWire {
  readonly kind: "openai_compatible" | "anthropic";
  start(
    script: (request: Pick<ScriptedRequest<unknown>, "text">) => Reply,
    options: ServerOptions,
  ): Promise<ScriptedServer<unknown>>;
  encodeEvents(script: ChatScript): readonly string[];
  /** From this event on nothing is missing but the farewell. */
  isLast(event: string): boolean;
  /** An event that tells of an error. */
  readonly trouble: string;
}

export const FAULTY_WIRES: readonly FaultyWire[] = [
  {
    kind: "openai_compatible",
    start: startOpenAiServer,
    encodeEvents: chat.encodeEvents,
    isLast: (event) => event.includes('"finish_reason":"tool_calls"'),
    trouble: 'data: {"error":{"message":"overloaded","type":"server_error","code":502}}\n\n',
  },
  {
    kind: "anthropic",
    start: startAnthropicServer,
    encodeEvents: messages.encodeEvents,
    isLast: (event) => event.includes('"stop_reason":"tool_use"'),
    trouble: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  },
];

export interface Misdeed {
  readonly name: string;
  reply(job: number): Reply;
  /** `must`: the answer is whole, if odd; `may`: only its farewell is missing. Absent: it is not to be acted on. */
  readonly acts?: "must" | "may" | undefined;
}

export function misdeedsOn(wire: FaultyWire): readonly Misdeed[] {
  return [...REFUSALS, ...BROKEN, ...brokenStreams(wire), ...oddAnswers(wire), ...cutsAtEachEvent(wire)];
}

const slowDown = (headers: Record<string, string>): Reply =>
  json(429, { type: "error", error: { type: "rate_limit_error", message: "slow down" } }, headers);

const REFUSALS: readonly Misdeed[] = [
  { name: "429 with Retry-After", reply: () => slowDown({ "retry-after": "1" }) },
  { name: "429 with an hour", reply: () => slowDown({ "retry-after": "3600" }) },
  { name: "429", reply: () => slowDown({}) },
  { name: "500", reply: () => json(500, { error: { message: "oops" } }) },
  { name: "503 with Retry-After", reply: () => json(503, { error: { message: "later" } }, { "retry-after": "0.2" }) },
  {
    name: "529",
    reply: () => json(529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  },
  { name: "400", reply: () => json(400, { error: { message: "no" } }) },
  { name: "HTML 502", reply: () => html(502) },
  { name: "HTML 200", reply: () => html(200) },
];

const BROKEN: readonly Misdeed[] = [
  { name: "hang", reply: () => ({ kind: "hang" }) },
  { name: "hang after the head", reply: () => ({ kind: "hang", withHead: true }) },
  { name: "reset", reply: () => ({ kind: "reset" }) },
  { name: "no HTTP", reply: () => ({ kind: "bytes", bytes: "SSH-2.0-OpenSSH_9.6\r\n" }) },
  { name: "half a document, reset", reply: (job) => answer({ calls: [callOf(job)], cut: { bytes: 90, by: "reset" } }) },
  { name: "half a document, ended", reply: (job) => answer({ calls: [callOf(job)], cut: { bytes: 90, by: "end" } }) },
];

function callOf(job: number) {
  return { id: "call_0", name: EFFECT_TOOLS.opaque, arguments: { job, n: 0 } };
}

function stream(events: readonly string[]): Reply {
  return { kind: "http", status: 200, headers: { "content-type": "text/event-stream" }, body: events.join("") };
}

function brokenStreams({ encodeEvents, trouble }: FaultyWire): readonly Misdeed[] {
  const eventsOf = (job: number) => encodeEvents({ text: "Now.", calls: [callOf(job)] });
  return [
    { name: "an error for an answer", reply: () => stream([trouble]) },
    { name: "an error in the middle", reply: (job) => stream([...eventsOf(job).slice(0, -3), trouble]) },
    { name: "an error before the end", reply: (job) => stream([...eventsOf(job).slice(0, -2), trouble]) },
    { name: "JSON that breaks off", reply: (job) => stream([...eventsOf(job).slice(0, 3), 'data: {"type":"con\n\n']) },
  ];
}

/** Whole answers, of a kind that nobody should send. */
function oddAnswers({ encodeEvents, isLast }: FaultyWire): readonly Misdeed[] {
  const absurd = (count: unknown) => ({ prompt_tokens: count, completion_tokens: count });
  const endOf = (events: readonly string[], begins: (event: string) => boolean) =>
    events.slice(events.findIndex(begins));
  const twice = (events: readonly string[]) => [...events, ...endOf(events, isLast)];
  const isCut = (event: string) => /_reason":"(?:length|max_tokens)"/.test(event);
  const counts: readonly unknown[] = [-5, 1e308, "many", 2.5, null];
  return [
    {
      name: "no ids",
      reply: (job) => stream(encodeEvents({ calls: [{ ...callOf(job), id: null }] })),
      acts: "must",
    },
    {
      name: "one id for two calls",
      reply: (job) => stream(encodeEvents({ calls: [callOf(job), callOf(job)], dialect: { hasIndexes: true } })),
    },
    { name: "two ends", reply: (job) => stream(twice(encodeEvents({ calls: [callOf(job)] }))), acts: "must" },
    {
      name: "two ends, one of a cut",
      reply: (job) =>
        stream([
          ...encodeEvents({ calls: [callOf(job)], dialect: { saysDone: false } }),
          ...endOf(encodeEvents({ calls: [callOf(job)], finishReason: "length" }), isCut),
        ]),
    },
    ...counts.map(
      (count): Misdeed => ({
        name: `a usage of ${JSON.stringify(count)}`,
        reply: (job) => stream(encodeEvents({ calls: [callOf(job)], usage: absurd(count) })),
        acts: "must",
      }),
    ),
  ];
}

/** After each event of a streamed tool call: by a reset, by a connection that ends, and by a response that ends in order. */
function cutsAtEachEvent({ encodeEvents, isLast }: FaultyWire): readonly Misdeed[] {
  const script = (job: number) => ({ calls: [callOf(job)], dialect: { alwaysStreams: true } });
  const events = encodeEvents(script(0));
  return events.flatMap((_, sent): readonly Misdeed[] => {
    const acts = events.slice(0, sent).some(isLast) ? "may" : undefined;
    const name = (by: string) => `cut after ${sent} of ${events.length} events by ${by}`;
    const cut = (by: "reset" | "end"): Misdeed => ({
      name: name(by),
      reply: (job) => answer({ ...script(job), cut: { events: sent, by } }),
      acts,
    });
    const ended: Misdeed = {
      name: name("an end in order"),
      reply: (job) => stream(encodeEvents(script(job)).slice(0, sent)),
      acts,
    };
    return [cut("reset"), cut("end"), ended];
  });
}
