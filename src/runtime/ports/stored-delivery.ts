/** What waits to be delivered, as every store holds it. */
import type { BodyRef, RunId } from "../../kernel/vocabulary/identifiers.ts";

export interface OutboxRow {
  readonly id: string;
  readonly runId: RunId;
  readonly channel: string;
  readonly bodyRef: BodyRef;
  readonly createdAt: string;
  readonly state: "waiting" | "sent" | "failed" | "ambiguous";
}
