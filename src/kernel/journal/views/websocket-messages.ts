/**
 * A run on the WebSocket (T-1.1): its calls, their results and its answer, in the seed's envelope. Ids follow from run
 * and place, and a journal that grew only appends messages: a client that reconnects drops duplicates.
 */
import { type Static, Type } from "typebox";
import { closed, nullable } from "../../vocabulary/schema-primitives.ts";
import type { Entry } from "../entry.ts";
import { argsOf, contentOf, type Lookup } from "./body-content.ts";
import { explainCall } from "./call-explanation.ts";
import { ReceiptSchema, receiptOf } from "./receipt.ts";
import { answerOf } from "./run-answer.ts";
import { digestOf, snapshotOfEntries } from "./run-snapshot.ts";
import { runTimeline, type TimelineItem } from "./run-timeline.ts";
import { unixMsOf } from "./unix-time.ts";

const Text = Type.String();

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
      payload: Type.Object({ sessionId: Text, runId: Text, ...payload }, closed),
    },
    closed,
  );

const call = { callId: Text, tool: Text };

export const WsMessageSchema = Type.Union([
  message("agent.response", { content: Text }),
  message("agent.response.end", { outcome: Text, digest: Text, receipt: ReceiptSchema }),
  message("tool.call", { ...call, args: Type.Record(Text, Type.Unknown()) }),
  message("tool.result", {
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
]);
export type WsMessage = Static<typeof WsMessageSchema>;

type Content<Message = WsMessage> = Message extends WsMessage ? Pick<Message, "type" | "payload"> : never;

export function websocketMessages(entries: readonly Entry[], lookup: Lookup, model: string): readonly WsMessage[] {
  return runTimeline(entries)
    .flatMap((item) => contentsOf(item, entries, lookup, model).map((content) => ({ item, content })))
    .map(({ item: { entry }, content }, index) => ({
      id: `msg_${entry.runId}_${index + 1}`,
      timestamp: unixMsOf(entry.ts) ?? 0,
      ...content,
    }));
}

function contentsOf(item: TimelineItem, entries: readonly Entry[], lookup: Lookup, model: string): readonly Content[] {
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
    case "ended": {
      const { runId, contractHash, decided } = item.entry;
      const answer = answerOf(item.entry, lookup);
      const receipt = receiptOf(entries, model);
      if (receipt === null) return [];
      const digest = digestOf(snapshotOfEntries(runId, contractHash, entries));
      const end: Content = {
        type: "agent.response.end",
        payload: { ...run, outcome: decided.outcome, digest, receipt },
      };
      return answer === null ? [end] : [{ type: "agent.response", payload: { ...run, content: answer } }, end];
    }
    default:
      return [];
  }
}
