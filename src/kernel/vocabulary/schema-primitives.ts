/** The small schemas that contracts, events, entries and the ledger are put together from. */
import { type TSchema, Type } from "typebox";
import { HASH_PATTERN } from "./hash.ts";
import type { ApprovalId, BodyRef, CallId, Hash, RunId } from "./identifiers.ts";

/** Unknown keys are refused. */
export const closed = { additionalProperties: false } as const;

export const Count = Type.Integer({ minimum: 0 });
export const HashSchema = Type.Unsafe<Hash>(Type.String({ pattern: HASH_PATTERN }));
export const BodyRefSchema = Type.Unsafe<BodyRef>(Type.String({ pattern: HASH_PATTERN }));
/** Journals record ids that models invent, so they are too short for prose. */
export const CALL_ID_PATTERN = "^[A-Za-z0-9_.:-]{1,128}$";
export const CallIdSchema = Type.Unsafe<CallId>(Type.String({ pattern: CALL_ID_PATTERN }));
export const RunIdSchema = Type.Unsafe<RunId>(Type.String({ minLength: 1 }));
export const ApprovalIdSchema = Type.Unsafe<ApprovalId>(Type.String({ minLength: 1 }));

export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}
