import type { AnswerOf } from "../../data/client.ts";

/** A card as `GET /api/approvals` has it. */
export type ApprovalRecord = AnswerOf<"approvals.list">["approvals"][number];
