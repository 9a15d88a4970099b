/** The small schemas that inputs of operations are put together from. */
import { Type } from "typebox";
import type { ApprovalId, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Page } from "../ports/store.ts";

const MAX_NAME_CHARS = 256;
const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 50;

export const Text = Type.String({ pattern: "\\S" });
export const Name = Type.String({ pattern: "\\S", maxLength: MAX_NAME_CHARS });
export const Nothing = Type.Object({}, { additionalProperties: false });

/** In a path an id is matched as it was written: nothing is decoded. */
const PATH_ID = "^[\\w-]{1,128}$";
export const RunIdInput = Type.Unsafe<RunId>(Type.String({ pattern: PATH_ID }));
export const ApprovalIdInput = Type.Unsafe<ApprovalId>(Type.String({ pattern: PATH_ID }));

export const pageFields = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
};

export function pageOf({ limit = DEFAULT_LIMIT, offset = 0 }: Partial<Page>): Page {
  return { limit, offset };
}
