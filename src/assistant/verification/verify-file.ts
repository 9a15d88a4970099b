/** Verifies a file that may be a signed receipt, a bundle or a journal; each may be damaged. */
import { type VerifiedBundle, verifyBundle } from "../../kernel/journal/bundle.ts";
import type { VerifySignature } from "../../kernel/journal/checkpoint.ts";
import { readJournal } from "../../kernel/journal/journal-lines.ts";
import { RECEIPT_FORMAT, type SignedReceipt, verifyReceipt } from "../../kernel/journal/signed-receipt.ts";
import { type VerifiedJournal, verifyJournal } from "../../kernel/journal/verify-journal.ts";

/** Whose key has signed: the one the caller named, this home's, or one that nothing here vouches for. */
export type Signer = "named" | "home" | "unknown";

export type FileVerdict =
  | {
      readonly ok: true;
      readonly kind: "receipt";
      readonly receipt: SignedReceipt;
      readonly publicKey: string;
      readonly signer: Signer;
    }
  | ({ readonly kind: "bundle"; readonly signer: Signer } & VerifiedBundle)
  | ({ readonly kind: "journal" } & VerifiedJournal)
  | {
      readonly ok: false;
      readonly entry?: number;
      readonly problem: string;
      /** Of an intact document that another key has signed than the caller named. */
      readonly signed?: { readonly publicKey: string; readonly signer: Signer };
    };

export interface KnownKeys {
  readonly verifySignature: VerifySignature;
  /** The key that must have signed; undefined accepts any, and says whose it is. */
  readonly named: string | undefined;
  /** This home's own; null where there is none. */
  readonly home: string | null;
}

export function verifyFile(file: Uint8Array, known: KnownKeys): FileVerdict {
  if (!isReceipt(file) && !isBundle(file)) {
    if (known.named === undefined) return verifyJournalFile(file);
    return { ok: false, problem: "a journal is not signed, by no key; a bundle of the run is" };
  }
  const verdict = verifySignedFile(file, known.verifySignature);
  if (!verdict.ok) return verdict;
  const { publicKey } = verdict;
  const signer = publicKey === known.named ? "named" : publicKey === known.home ? "home" : "unknown";
  if (known.named === undefined || signer === "named") return { ...verdict, signer };
  const whose = signer === "home" ? "this home's own key" : "an unknown key";
  return {
    ok: false,
    problem: `signed with another key than the one you named: ${publicKey}, ${whose}`,
    signed: { publicKey, signer },
  };
}

function verifySignedFile(file: Uint8Array, verifySignature: VerifySignature) {
  if (isReceipt(file)) {
    const verified = verifyReceipt(file, { verifySignature });
    return verified.ok ? ({ kind: "receipt", ...verified } as const) : verified;
  }
  const verified = verifyBundle(file, { verifySignature });
  return verified.ok ? ({ kind: "bundle", ...verified } as const) : verified;
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
