/**
 * The messages of the WebSocket (T-1.1), in the seed's envelope, and those of a run: its calls, their results and its
 * answer. Their ids follow from run and place, and a journal that grew only appends messages.
 */
import { type Static, Type } from "typebox";
import { terminalStatus } from "../../vocabulary/outcome.ts";
import { Count, closed, nullable } from "../../vocabulary/schema-primitives.ts";
import type { Entry, EntryOf } from "../entry.ts";
import { argsOf, contentOf, type Lookup } from "./body-content.ts";
import { explainCall } from "./call-explanation.ts";
import { ReceiptSchema, receiptOf } from "./receipt.ts";
import { answerOf } from "./run-answer.ts";
import { digestOf, snapshotOfEntries } from "./run-snapshot.ts";
import { runTimeline, type TimelineItem } from "./run-timeline.ts";
import { unixMsOf } from "./unix-time.ts";

const Text = Type.String();
/** A number that a client chose: clocks differ, so any will do. */
const Timestamp = Type.Number();

const message = <const Name extends string, Fields extends Parameters<typeof Type.Object>[0]>(
  type: Name,
  payload: Fields,
) =>
  Type.Object(
    {
      id: Text,
      type: Type.Literal(type),
      /** Unix milliseconds. */
      timestamp: Type.Integer(),
      payload: Type.Object(payload, closed),
      /** Of a recorded message: `/?after=CURSOR` goes on behind it. */
      cursor: Type.Optional(Text),
    },
    closed,
  );

const ofRun = { sessionId: Text, runId: Text };
const call = { callId: Text, tool: Text };

/** What a client may answer to a question, and which plan it answers. */
const QuestionSchema = Type.Object(
  {
    id: Text,
    plan_hash: Text,
    prompt: Text,
    actions: Type.Array(
      Type.Object({ label: Text, decision: Type.Enum(["allow", "deny", "done", "retry", "fail"]) }, closed),
    ),
  },
  closed,
);

/** All that a client sends (T-1.1); who sends it follows from its connection, and `channel` and `senderId` must agree. */
export const InboundMessageSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 128 }),
    type: Type.Literal("channel.message"),
    timestamp: Timestamp,
    payload: Type.Object(
      {
        channel: Type.Optional(nullable(Text)),
        senderId: Type.Optional(nullable(Text)),
        senderName: Type.Optional(nullable(Text)),
        agentId: Type.Optional(nullable(Text)),
        text: Type.Optional(nullable(Text)),
        media: Type.Optional(nullable(Type.Array(Type.Object({ ref: Text }, closed)))),
        isGroup: Type.Optional(nullable(Type.Boolean())),
        groupId: Type.Optional(nullable(Text)),
        /** The answer to a question, in place of a text. */
        action: Type.Optional(
          nullable(
            Type.Object(
              {
                approval_id: Text,
                plan_hash: Text,
                decision: Type.Enum(["allow", "deny", "done", "retry", "fail"]),
              },
              closed,
            ),
          ),
        ),
      },
      closed,
    ),
  },
  closed,
);
export type WsInbound = Static<typeof InboundMessageSchema>;

/** What the gateway sends. Messages of a run that follow from its journal are recorded; all others are live only. */
export const OutboundMessageSchema = Type.Union([
  // A command belongs to no run: then both are null, and so is all that a run ends with.
  message("agent.response", {
    sessionId: nullable(Text),
    runId: nullable(Text),
    /** What comes next of the answer; pieces in their order are the whole. */
    content: Text,
    /** Where it stands in the text of this attempt; at 0 it takes the place of what an earlier attempt said. */
    attempt: Type.Optional(Count),
    offset: Type.Optional(Count),
  }),
  message("agent.response.end", {
    sessionId: nullable(Text),
    runId: nullable(Text),
    outcome: nullable(Text),
    digest: nullable(Text),
    receipt: nullable(ReceiptSchema),
  }),
  message("tool.call", {
    ...ofRun,
    ...call,
    args: Type.Record(Text, Type.Unknown()),
    /** It waits for a person. The call is sent again, without, when it was decided. */
    approval: Type.Optional(QuestionSchema),
  }),
  message("tool.result", {
    ...ofRun,
    ...call,
    ok: Type.Boolean(),
    output: Type.Unknown(),
    error: nullable(
      Type.Object(
        { code: Text, message: Text, retryable: Type.Boolean(), details: Type.Record(Text, Type.Unknown()) },
        closed,
      ),
    ),
  }),
  message("tool.stream", {
    ...ofRun,
    callId: Text,
    stream: Type.Enum(["stdout", "stderr"]),
    offset: Count,
    content: Text,
  }),
  message("session.created", { sessionId: Text, agentId: Text, channel: Text, senderId: Text }),
  /** To the one who wrote: its message `messageId` is a run of this session. */
  message("session.resumed", { sessionId: Text, runId: Text, messageId: Text }),
  message("config.updated", { changed: Type.Array(Text) }),
  message("shadow.ghost", { ghost: Type.Record(Text, Type.Unknown()) }),
  message("error", {
    code: Text,
    message: Text,
    retryAfterSeconds: Type.Optional(Type.Number()),
    /** The client's message that it answers. */
    messageId: Type.Optional(Text),
    /** The run that failed, before its `agent.response.end`. */
    sessionId: Type.Optional(Text),
    runId: Type.Optional(Text),
  }),
]);
export type WsMessage = Static<typeof OutboundMessageSchema>;

export const WsMessageSchema = Type.Union([InboundMessageSchema, ...OutboundMessageSchema.anyOf]);

type Content<Message = WsMessage> = Message extends WsMessage ? Pick<Message, "type" | "payload"> : never;

/** What the end of a run says of it: `entries` are all of them. */
export interface RunEndFacts {
  readonly entries: readonly Entry[];
  readonly model: string;
  /** Why it failed, in words; empty where nothing is known beyond its reason. */
  readonly explanation: string;
}

export function websocketMessages(entries: readonly Entry[], lookup: Lookup, model: string): readonly WsMessage[] {
  const facts = { entries, model, explanation: "" };
  return runTimeline(entries)
    .flatMap((item) => contentsOf(item, lookup, facts).map((content) => ({ item, content })))
    .map(({ item, content }, index) => numbered(item, content, index + 1));
}

/** The messages of one item; `before` is how many came before in its run. */
export function messagesOfItem(
  item: TimelineItem,
  before: number,
  lookup: Lookup,
  facts: RunEndFacts,
): readonly WsMessage[] {
  return contentsOf(item, lookup, facts).map((content, index) => numbered(item, content, before + index + 1));
}

function numbered({ entry }: TimelineItem, content: Content, number: number): WsMessage {
  return { id: `msg_${entry.runId}_${number}`, timestamp: unixMsOf(entry.ts) ?? 0, ...content };
}

function contentsOf(item: TimelineItem, lookup: Lookup, facts: RunEndFacts): readonly Content[] {
  const run = { sessionId: item.sessionId, runId: item.entry.runId };
  switch (item.kind) {
    case "called": {
      const { callId, tool, argsRef } = item.call;
      return [{ type: "tool.call", payload: { ...run, callId, tool, args: argsOf(argsRef, lookup) } }];
    }
    case "call-ended": {
      const { callId, tool } = item.call;
      const { ok, outputRef } = item.outcome;
      const output = contentOf(outputRef, lookup);
      const error = explainCall(item, lookup);
      return [{ type: "tool.result", payload: { ...run, callId, tool, ok, output, error } }];
    }
    case "ended":
      return contentsOfEnd(item.entry, run, lookup, facts);
    default:
      return [];
  }
}

function contentsOfEnd(
  entry: EntryOf<"TERMINATE">,
  run: { readonly sessionId: string; readonly runId: string },
  lookup: Lookup,
  { entries, model, explanation }: RunEndFacts,
): readonly Content[] {
  const receipt = receiptOf(entries, model);
  if (receipt === null) return [];
  const { outcome, reason } = entry.decided;
  const digest = digestOf(snapshotOfEntries(entry.runId, entry.contractHash, entries));
  const answer = answerOf(entry, lookup);
  const said: readonly Content[] =
    answer === null ? [] : [{ type: "agent.response", payload: { ...run, content: answer } }];
  // The seeds' client knows nothing but text and errors: a failure without words would look like silence.
  const isSilent = answer === null && terminalStatus(outcome) === "failed";
  const message = explanation === "" ? `The run ended ${outcome}.` : explanation;
  const failed: readonly Content[] = isSilent
    ? [{ type: "error", payload: { ...run, code: reason ?? "internal.error", message } }]
    : [];
  return [...said, ...failed, { type: "agent.response.end", payload: { ...run, outcome, digest, receipt } }];
}
