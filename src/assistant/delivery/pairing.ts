/**
 * Pairing: a sender who is not accepted gets a code and reaches no model. An operator accepts the code, or the
 * sender by name, and can take it back the same way. Every decision stands in the
 * ledger; a row that the ledger does not confirm counts for nothing.
 */
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type { RandomBytes } from "../../runtime/ports/randomness.ts";
import type { Page, Store } from "../../runtime/ports/store.ts";
import type { DeliveryWrite, StoredPairing } from "../../runtime/ports/stored-delivery.ts";
import { isWaiting } from "./pairing-rules.ts";

const CODE_CHARS = 8;
/** No letter looks like a digit; 32 of them, so that every byte is as good as another. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CODE_LIFE_MS = 3_600_000;

interface PairingParts {
  readonly store: Pick<Store, "commit" | "findPairing" | "findPairingByCode" | "listPairings">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: RandomBytes;
}

export interface Sender {
  readonly channel: string;
  readonly senderId: string;
}

export class Pairing {
  readonly #parts: PairingParts;

  constructor(parts: PairingParts) {
    this.#parts = parts;
  }

  async isAccepted(channel: string, senderId: string): Promise<boolean> {
    return (await this.#parts.store.findPairing(channel, senderId))?.state === "accepted";
  }

  /** The request of an unknown sender; null when there is nothing to tell: it waits already, or was denied. */
  async request(
    { channel, senderId }: Sender,
    senderName: string | null,
  ): Promise<{ readonly write: DeliveryWrite; readonly answer: string } | null> {
    const { store, clock, random } = this.#parts;
    const nowMs = clock.nowMs();
    const found = await store.findPairing(channel, senderId);
    if (found !== null && (found.state !== "pending" || isWaiting(found, nowMs))) return null;
    const code = [...random(CODE_CHARS)].map((byte) => ALPHABET[byte % ALPHABET.length]).join("");
    const expiresAtMs = nowMs + CODE_LIFE_MS;
    const request = { channel, senderId, senderName, code, requestedAtMs: nowMs, expiresAtMs };
    return { write: { type: "request-pairing", request }, answer: answerWith(code) };
  }

  list(page: Page): Promise<readonly StoredPairing[]> {
    return this.#parts.store.listPairings(page);
  }

  /** `asked`: a code, or `channel:sender`. */
  async decide(
    asked: string,
    state: "accepted" | "denied",
    principal: string,
  ): Promise<{ readonly ok: true; readonly sender: Sender } | Refusal> {
    const { store, clock } = this.#parts;
    const sender = asked.includes(":") ? senderIn(asked) : await this.#waiting(asked.toUpperCase());
    if (sender === null) return refuse("not_found", "no sender waits with this code; codes are valid for an hour");
    const { channel, senderId } = sender;
    const kind = state === "accepted" ? "pair.accepted" : "pair.denied";
    const data = { channel, sender: senderId };
    const draft = { kind, ts: timestampOf(clock.nowMs()), actor: principal, data } as const;
    await store.commit([{ type: "decide-pairing", draft }], "barrier");
    return { ok: true, sender };
  }

  async #waiting(code: string): Promise<Sender | null> {
    const { store, clock } = this.#parts;
    const found = await store.findPairingByCode(code);
    return found !== null && isWaiting(found, clock.nowMs()) ? found : null;
  }
}

function senderIn(asked: string): Sender | null {
  const at = asked.indexOf(":");
  const [channel, senderId] = [asked.slice(0, at), asked.slice(at + 1)];
  return channel === "" || senderId === "" ? null : { channel, senderId };
}

/** The same for every stranger. */
function answerWith(code: string): string {
  return `I do not know you yet. Give the operator this code, who accepts you with: surety pair accept ${code}. It is valid for an hour; then write again.`;
}
