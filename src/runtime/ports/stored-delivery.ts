/** Messages on their way in and out, and the senders that were accepted, as every store holds them. */
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Recipient } from "./channel.ts";
import type { Page } from "./page.ts";

/** How a message from a channel ended: a run (which ends in an outcome), the answer to a command, or without either. */
export type InboxState = "run" | "answered" | "ignored" | "unpaired";

/** One for every message of a channel, under the channel's own id. */
export interface InboxRow {
  readonly channel: string;
  readonly messageId: string;
  readonly state: InboxState;
  /** Null unless the state is `run`. */
  readonly runId: RunId | null;
  readonly receivedAt: string;
}

export const OUTBOX_STATES = ["waiting", "waiting_approval", "sending", "sent", "failed", "ambiguous"] as const;
/**
 * `sending`: an attempt has begun. Found after a restart, it is unknown whether the message went out. `ambiguous`: the same,
 * and a person has to look.
 */
export type OutboxState = (typeof OUTBOX_STATES)[number];

export interface NewDelivery {
  readonly id: string;
  readonly channel: string;
  readonly recipient: Recipient;
  readonly text: string;
  /** Whose answer it is; null for the answer to a command, or a pairing code. */
  readonly runId: RunId | null;
  readonly createdAt: string;
  readonly state: "waiting" | "waiting_approval";
}

export interface OutboxRow extends Omit<NewDelivery, "state" | "text"> {
  /** Null once it was sent: the session has it. */
  readonly text: string | null;
  readonly state: OutboxState;
  /** Attempts begun. */
  readonly attempts: number;
  /** A waiting message is sent from then on. */
  readonly nextAtMs: number;
  /** Why it was not sent, or may have been. */
  readonly problem: string | null;
  /** The row is not what the ledger recorded: another program changed it. */
  readonly isForged: boolean;
}

/** `forged`: the row is not what the ledger recorded; it counts for nothing. */
export type PairingState = "pending" | "accepted" | "denied" | "forged";

export interface StoredPairing {
  readonly channel: string;
  readonly senderId: string;
  readonly senderName: string | null;
  readonly state: PairingState;
  /** What the sender was told; null for one who never asked. */
  readonly code: string | null;
  readonly requestedAtMs: number;
  readonly expiresAtMs: number;
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
}

export type DeliveryWrite =
  /** A message that makes no run; `insert-run` has its own. `store.conflict` when the channel's id was taken. */
  | {
      readonly type: "insert-inbox";
      readonly message: Omit<InboxRow, "runId"> & { readonly state: Exclude<InboxState, "run"> };
    }
  /** `store.conflict` when the id exists with another text; the same write repeated succeeds. */
  | { readonly type: "insert-outbox"; readonly delivery: NewDelivery }
  /** `store.conflict` unless the message is in the state `from`, and may go from there to `to`; a forged one only fails. */
  | {
      readonly type: "move-outbox";
      readonly id: string;
      readonly from: OutboxState;
      readonly to: OutboxState;
      readonly nextAtMs: number;
      readonly problem: string | null;
      readonly at: string;
    }
  /** `store.conflict` when the sender is known, or as many others of the channel wait as may. */
  | {
      readonly type: "request-pairing";
      readonly request: Pick<StoredPairing, "channel" | "senderId" | "senderName" | "requestedAtMs" | "expiresAtMs"> & {
        readonly code: string;
      };
    }
  /** An operator's decision, with its ledger entry. */
  | { readonly type: "decide-pairing"; readonly draft: LedgerDraft<"pair.accepted"> | LedgerDraft<"pair.denied"> };

export interface DeliveryReads {
  findInbound(channel: string, messageId: string): Promise<InboxRow | null>;
  findDelivery(id: string): Promise<OutboxRow | null>;
  /** What is not settled of a channel: waiting, waiting for approval, or being sent; oldest first. */
  openOutbox(channel: string, page: Page): Promise<readonly OutboxRow[]>;
  /** Newest first. */
  listOutbox(filter: { readonly state: OutboxState | null }, page: Page): Promise<readonly OutboxRow[]>;
  findPairing(channel: string, senderId: string): Promise<StoredPairing | null>;
  findPairingByCode(code: string): Promise<StoredPairing | null>;
  /** By channel and sender. */
  listPairings(page: Page): Promise<readonly StoredPairing[]>;
}
