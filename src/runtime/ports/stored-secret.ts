/** Secrets that an operator gave the home, sealed: the store never holds a value that it could read. */
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";

export interface StoredSecret {
  readonly name: string;
  /** Only a `SecretBox` with the home's key opens it, and only under this name. */
  readonly sealed: string;
  readonly updatedAtMs: number;
}

export interface SecretReads {
  /** By name. */
  storedSecrets(): Promise<readonly StoredSecret[]>;
}

/** Each with its ledger entry, which names the secret. */
export type SecretWrite =
  | { readonly type: "put-secret"; readonly secret: StoredSecret; readonly draft: LedgerDraft<"secret.set"> }
  /** Changes nothing when repeated. */
  | { readonly type: "remove-secret"; readonly draft: LedgerDraft<"secret.removed"> };

export interface SecretBox {
  seal(name: string, value: string): string;
  /** Null: it was sealed with another key or under another name, or was changed. */
  open(name: string, sealed: string): string | null;
}
