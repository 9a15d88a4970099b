/**
 * The signed receipt of a run: short enough to keep with the answer, verified with nothing but the public key.
 * It proves that the home made the claim; the bundle whose head it names proves the claim itself. A home without its
 * key still shows the cost of a run, unsigned.
 */

import { type Static, Type } from "typebox";
import { schemaCheck } from "#schema-check";
import { canonicalJson } from "../vocabulary/canonical-json.ts";
import type { RunId } from "../vocabulary/identifiers.ts";
import { closed, nullable } from "../vocabulary/schema-primitives.ts";
import { hasVerified, type Sign, type VerifySignature } from "./checkpoint.ts";
import { readDocument } from "./read-records.ts";
import { type Receipt, ReceiptSchema } from "./views/receipt.ts";

export const RECEIPT_FORMAT = "surety.receipt.v1";

export const SignedReceiptSchema = Type.Object(
  {
    format: Type.Literal(RECEIPT_FORMAT),
    run_id: Type.String(),
    ...ReceiptSchema.properties,
    public_key: nullable(Type.String()),
    signature: nullable(Type.String()),
  },
  closed,
);
export type SignedReceipt = Static<typeof SignedReceiptSchema>;

/** `publicKey` is null where there is nothing to sign with. */
export interface ReceiptSigner {
  readonly publicKey: string | null;
  readonly sign: Sign;
}

export function signReceipt(runId: RunId, receipt: Receipt, { publicKey, sign }: ReceiptSigner): SignedReceipt {
  const said = { format: RECEIPT_FORMAT, run_id: runId, ...receipt } as const;
  const signature = publicKey === null ? null : sign(canonicalJson(said));
  return { ...said, public_key: publicKey, signature };
}

export type VerifiedReceipt =
  | { readonly ok: true; readonly receipt: SignedReceipt; readonly publicKey: string }
  | { readonly ok: false; readonly problem: string };

export function verifyReceipt(
  file: string | Uint8Array,
  { verifySignature }: { readonly verifySignature: VerifySignature },
): VerifiedReceipt {
  const parsed = readDocument(file);
  if (!parsed.ok) return parsed;
  const receipt: unknown = parsed.value;
  if (!schemaCheck(SignedReceiptSchema).accepts(receipt)) {
    return { ok: false, problem: `not a receipt as ${RECEIPT_FORMAT} has it` };
  }
  const { public_key: publicKey, signature, ...said } = receipt;
  if (publicKey === null || signature === null) return { ok: false, problem: "it is not signed" };
  if (!hasVerified(verifySignature, publicKey, canonicalJson(said), signature)) {
    return { ok: false, problem: "signature does not match" };
  }
  return { ok: true, receipt, publicKey };
}
