/** A failure on its way from one thread to another: errors lose their class when they are copied. */
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { StoreError, type StoreErrorCode } from "../../runtime/ports/store.ts";
import { toStoreError } from "./sqlite-failure.ts";

export interface Failure {
  /** `defect`: no refusal of the store's, but a fault of ours. */
  readonly code: StoreErrorCode | "defect";
  readonly message: string;
}

export function failureOf(error: unknown): Failure {
  const known = toStoreError(error);
  if (known instanceof StoreError) return { code: known.code, message: known.message };
  return { code: "defect", message: known instanceof Error ? known.message : String(known) };
}

/** Of what concerns the medium, so everybody: damage keeps its name, everything else means that nothing can be written. */
export function mediumFailureOf(error: unknown): Failure {
  const { code, message } = failureOf(error);
  return { code: code === "store.corrupt" ? code : "store.unavailable", message };
}

export function errorOf({ code, message }: Failure): Error {
  return code === "defect" ? new Defect(message) : new StoreError(code, message);
}
