/** Tokens, and browsers that are signed in, as every store holds them. Of a secret only its SHA-256 is kept. */
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { Page } from "./page.ts";

export const TOKEN_SCOPES = ["chat", "operate", "admin"] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

export interface NewToken {
  readonly id: string;
  readonly name: string;
  readonly digest: Hash;
  readonly scope: TokenScope;
  /** The sender that it speaks for; null for one that speaks for anyone. */
  readonly channel: string | null;
  readonly senderId: string | null;
  readonly createdAtMs: number;
  /** Null: it lasts. */
  readonly expiresAtMs: number | null;
}

export interface StoredToken extends NewToken {
  /** The row is not what the ledger recorded: another program changed it, and it lets no one in. */
  readonly isForged: boolean;
}

export interface NewBrowser {
  readonly id: string;
  readonly digest: Hash;
  readonly userAgent: string;
  readonly createdAtMs: number;
  readonly seenAtMs: number;
  readonly expiresAtMs: number;
}

export interface StoredBrowser extends NewBrowser {
  readonly isForged: boolean;
}

/** Each act with its ledger entry. */
export type AccessWrite =
  /** A new token, or one that was changed. */
  | {
      readonly type: "put-token";
      readonly token: NewToken;
      readonly draft: LedgerDraft<"token.created"> | LedgerDraft<"token.rotated">;
    }
  /** Changes nothing when repeated. */
  | { readonly type: "remove-token"; readonly draft: LedgerDraft<"token.revoked"> }
  | {
      readonly type: "insert-browser";
      readonly browser: NewBrowser;
      readonly draft: LedgerDraft<"browser.signed_in">;
    }
  /** Changes nothing when repeated. */
  | { readonly type: "remove-browser"; readonly draft: LedgerDraft<"browser.signed_out"> }
  | { readonly type: "see-browser"; readonly id: string; readonly atMs: number };

/** Oldest first. */
export interface AccessReads {
  listTokens(page: Page): Promise<readonly StoredToken[]>;
  listBrowsers(page: Page): Promise<readonly StoredBrowser[]>;
}
