/** The feed as an operation: what a user interface listens to. */
import { type Static, Type } from "typebox";
import { closed, nullable } from "../../kernel/vocabulary/schema-primitives.ts";
import { operationsOver } from "../../runtime/operations/operation.ts";
import { type Feed, type FeedUpdate, RECORD_KINDS } from "./feed.ts";

export interface FeedServices {
  readonly feed: Pick<Feed, "follow">;
}

const NoData = Type.Object({}, closed);
const ChangedSchema = Type.Object({ record: Type.Enum([...RECORD_KINDS]), id: nullable(Type.String()) }, closed);

const { stream } = operationsOver<FeedServices>();

export const feedOperations = [
  stream({
    name: "feed",
    method: "GET",
    path: "/api/feed",
    scope: "operate",
    summary: "streams which records have changed, as server-sent events (below); `?after=` an earlier event's id",
    // For clients that cannot send Last-Event-ID with their first request.
    input: Type.Object({ after: Type.Optional(Type.String({ maxLength: 128 })) }, closed),
    events: { ready: NoData, reset: NoData, changed: ChangedSchema },
    lastEvents: [],
    open({ feed }, { after }, lastEventId, signal) {
      return Promise.resolve({ ok: true, updates: feed.follow(lastEventId ?? after ?? null, signal), isOver: false });
    },
    encode: (update: FeedUpdate) => ({
      event: update.kind,
      id: update.cursor,
      data: update.kind === "changed" ? update.changed : {},
    }),
    decode(event, data, cursor): FeedUpdate {
      if (event !== "changed") return { kind: event as "ready" | "reset", cursor };
      return { kind: "changed", cursor, changed: data as Static<typeof ChangedSchema> };
    },
  }),
] as const;
