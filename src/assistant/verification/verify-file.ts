/** Verifies a file that may be a signed receipt, a bundle or a journal; each may be damaged. */
import { type VerifiedBundle, verifyBundle } from "../../kernel/journal/bundle.ts";
import type { VerifySignature } from "../../kernel/journal/checkpoint.ts";
import { readJournal } from "../../kernel/journal/journal-lines.ts";
import { RECEIPT_FORMAT, type SignedReceipt, verifyReceipt } from "../../kernel/journal/signed-receipt.ts";
import { type VerifiedJournal, verifyJournal } from "../../kernel/journal/verify-journal.ts";

export type FileVerdict =
  | { readonly ok: true; readonly kind: "receipt"; readonly receipt: SignedReceipt; readonly publicKey: string }
  | ({ readonly kind: "bundle" } & VerifiedBundle)
  | ({ readonly kind: "journal" } & VerifiedJournal)
  | { readonly ok: false; readonly entry?: number; readonly problem: string };

/** `expectedKey` is the public key that must have signed a receipt or a bundle; undefined accepts any. */
export function verifyFile(
  file: Uint8Array,
  verifySignature: VerifySignature,
  expectedKey: string | undefined,
): FileVerdict {
  if (!isReceipt(file) && !isBundle(file)) return verifyJournalFile(file);
  const verdict = verifySignedFile(file, verifySignature);
  if (!verdict.ok || expectedKey === undefined || verdict.publicKey === expectedKey) return verdict;
  return { ok: false, problem: `signed with another key: ${verdict.publicKey}` };
}

function verifySignedFile(
  file: Uint8Array,
  verifySignature: VerifySignature,
): Exclude<FileVerdict, { readonly kind: "journal" }> {
  if (isReceipt(file)) {
    const verified = verifyReceipt(file, { verifySignature });
    return verified.ok ? { kind: "receipt", ...verified } : verified;
  }
  const verified = verifyBundle(file, { verifySignature });
  return verified.ok ? { kind: "bundle", ...verified } : verified;
}

/** A journal names its own contract. That it was the right one, only a bundle or the home can prove. */
function verifyJournalFile(file: Uint8Array): FileVerdict {
  const contractHash = readJournal(file).entries[0]?.contractHash;
  if (contractHash === undefined) return { ok: false, entry: 1, problem: "not a journal" };
  const verified = verifyJournal(file, { contractHash });
  return verified.ok ? { kind: "journal", ...verified } : verified;
}

const MAX_RECEIPT_BYTES = 4096;

function isReceipt(file: Uint8Array): boolean {
  return file.length <= MAX_RECEIPT_BYTES && Buffer.from(file).includes(RECEIPT_FORMAT);
}

const BUNDLE_KEYS = ['"bodies":', '"signature":', '"public_key":'];

/** A bundle is one document; a journal file is one document a line. */
function isBundle(file: Uint8Array): boolean {
  const [firstLine = ""] = Buffer.from(file).toString("utf8").trimStart().split("\n", 1);
  return !firstLine.includes('"prev":') || BUNDLE_KEYS.some((key) => firstLine.includes(key));
}
