/** Files that clients upload for a message: kept until a run takes them, then part of its session. */
import type { BodyRef, SessionId } from "../../kernel/vocabulary/identifiers.ts";

export const MEDIA_TYPES = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "application/pdf",
  "text/plain",
] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

export interface StoredMedia {
  readonly ref: string;
  /** `channel:sender`, who alone may use it; null: any client that may speak for every sender. */
  readonly owner: string | null;
  readonly type: MediaType;
  /** As a file in the workspace may be called. */
  readonly name: string;
  readonly bytes: number;
  readonly createdAtMs: number;
  /** Base64; null once a run has taken it. */
  readonly data: string | null;
  /** Where the last run that took it keeps it, in Base64. */
  readonly takenInto: { readonly sessionId: SessionId; readonly bodyRef: BodyRef } | null;
}

/** Uploads that no run has taken. */
export interface WaitingMedia {
  readonly files: number;
  readonly bytes: number;
}

export interface MediaReads {
  findMedia(ref: string): Promise<StoredMedia | null>;
  waitingMedia(owner: string | null): Promise<WaitingMedia>;
}

export type MediaWrite =
  /** The same ref again is the same file, uploaded again. Removes what no run took and was uploaded before `expireBeforeMs`. */
  | { readonly type: "put-media"; readonly media: StoredMedia; readonly expireBeforeMs: number }
  /** Part of a run's acceptance: the file is a body of its session from now on. */
  | { readonly type: "take-media"; readonly ref: string; readonly sessionId: SessionId; readonly bodyRef: BodyRef };
