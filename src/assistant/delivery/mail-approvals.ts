/**
 * The approval that mail waits for (P-2.4): a question like any other, in the same list, decided the same way. It is bound
 * to recipient and text by its hash, and consumed in the transaction that releases the mail. No run waits for it.
 */
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import { asApprovalId, asCallId, type Hash } from "../../kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../kernel/vocabulary/labels.ts";
import type { Approvals } from "../../runtime/approvals/approvals.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { RandomBytes } from "../../runtime/ports/randomness.ts";
import type { Store, StoredApproval, Write } from "../../runtime/ports/store.ts";
import type { OutboxRow } from "../../runtime/ports/stored-delivery.ts";
import { BodyCache } from "../../runtime/run/body-cache.ts";

interface MailParts {
  readonly store: Pick<Store, "commit" | "findApproval" | "findRun">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: RandomBytes;
  readonly approvals: Pick<Approvals, "watch">;
  readonly timeoutMs: () => number;
}

export type MailVerdict =
  | { readonly is: "waiting" }
  | { readonly is: "denied"; readonly why: string }
  | { readonly is: "allowed"; readonly consume: Write };

const SHOWN_AS = "message.send";
/** No call of the run: its reply. */
export const CALL_OF_MAIL = asCallId("reply");

export class MailApprovals {
  readonly #parts: MailParts;

  constructor(parts: MailParts) {
    this.#parts = parts;
  }

  /** Asks the operator if that has not been done yet. */
  async verdictOn(row: OutboxRow): Promise<MailVerdict> {
    const { store, clock } = this.#parts;
    const planHash = hashOfMail(row);
    // A message that is put back to be asked about again is another question.
    const id = asApprovalId(`approval_${hashCanonical([row.id, planHash, row.nextAtMs]).slice(0, 24)}`);
    const found = await store.findApproval(id);
    if (found === null) return await this.#ask(row, id, planHash);
    const nowMs = clock.nowMs();
    if (found.state === "pending") return { is: "waiting" };
    if (found.state === "allowed" && nowMs < found.expiresAtMs) {
      return { is: "allowed", consume: { type: "consume-approval", id, planHash, atMs: nowMs } };
    }
    return { is: "denied", why: found.state === "denied" ? "The operator denied it." : "It was not allowed in time." };
  }

  async #ask(row: OutboxRow, id: StoredApproval["id"], planHash: Hash): Promise<MailVerdict> {
    const { store, clock, random, approvals, timeoutMs } = this.#parts;
    const run = row.runId === null ? null : await store.findRun(row.runId);
    if (run === null) return { is: "denied", why: "Its run is not known." };
    const { runId, sessionId, ended } = run;
    const bodies = new BodyCache(random, new Map());
    const createdAtMs = clock.nowMs();
    const expiresAtMs = createdAtMs + timeoutMs();
    const approval: StoredApproval = {
      ...{ id, runId, sessionId, planHash, createdAtMs, expiresAtMs },
      callId: CALL_OF_MAIL,
      step: 0,
      kind: "approve",
      tool: SHOWN_AS,
      planRef: bodies.keep(shown(row)),
      backgroundRef: null,
      why: "answers on this channel go out by a person's decision",
      labels: ended?.labels ?? USER_LABELS,
      state: "pending",
      decidedBy: null,
      decidedAtMs: null,
    };
    await store.commit(
      [
        { type: "put-bodies", sessionId, bodies: bodies.takeUnwritten() },
        { type: "insert-approval", approval },
      ],
      "barrier",
    );
    approvals.watch(expiresAtMs);
    return { is: "waiting" };
  }
}

/** What a decision on this message is bound to. */
export function hashOfMail({ id, channel, recipient, text }: OutboxRow): Hash {
  return hashCanonical([id, channel, recipient.type, recipient.address, text ?? ""]);
}

function shown({ channel, recipient: { address, type }, text }: OutboxRow): string {
  return [
    "Send the answer of this run",
    `  channel:  ${channel}`,
    `  to:       ${JSON.stringify(address)} (${type})`,
    "  the whole text, each line behind a bar:",
    ...(text ?? "").split("\n").map((line) => `| ${line}`),
  ].join("\n");
}
