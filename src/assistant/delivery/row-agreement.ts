/**
 * Whether a message of the outbox is what the journal and the ledger vouch for (X-13, P-2.4).
 *
 * A1. The answer of a run says what the run's journal ended with, to the sender that the run answers.
 * A2. Mail was allowed by a decision that counts, for this recipient and this text.
 * A3. The row is as the ledger recorded it last: state and attempts, and the text of what no run answered.
 */
import { isBodyOf } from "../../kernel/journal/body.ts";
import { verifyJournal } from "../../kernel/journal/verify-journal.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { ReplyAddress } from "../../runtime/ports/channel.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import type { OutboxRow } from "../../runtime/ports/stored-delivery.ts";
import { findAcceptance } from "../../runtime/run/acceptance.ts";
import { CALL_OF_MAIL, hashOfMail } from "./mail-approvals.ts";
import { presentEnding } from "./presentation.ts";

export interface Disagreement {
  readonly code: "outbox.changed" | "outbox.unapproved";
  readonly problem: string;
}

type Reads = Pick<Store, "findRun" | "readEntries" | "readBodies" | "approvalsOf">;

export const CHANGED: Disagreement = {
  code: "outbox.changed",
  problem: "The outbox row was changed outside of surety, so it was not sent. Run surety verify --home.",
};
const UNAPPROVED: Disagreement = {
  code: "outbox.unapproved",
  problem: "No decision in the ledger allows this text to this recipient. Nothing was sent; retry asks again.",
};

/** `channelClass`: of the channel as it is configured now; null when that is not known. */
export async function findDisagreement(
  store: Reads,
  row: OutboxRow,
  channelClass: ReplyAddress["channelClass"] | null,
): Promise<Disagreement | null> {
  if (row.isForged) return CHANGED;
  // Its text is part of the ledger's record; mail is the answer of a run, always.
  if (row.runId === null) return channelClass === "external_email" ? CHANGED : null;
  const run = await store.findRun(row.runId);
  const reply = run === null ? undefined : findAcceptance(run.accepted)?.reply;
  if (run === null || reply === undefined || row.id !== `reply_${run.runId}`) return CHANGED;
  const { address, type } = reply.recipient;
  const isToSender = row.channel === reply.channel && row.recipient.address === address && row.recipient.type === type;
  if (!isToSender) return CHANGED;
  const text = await textOf(store, run);
  const isSent = row.state === "sent";
  // Of a message that was sent only the fact is kept, also when its answer was erased later.
  const isWithheld = row.state === "failed" && row.text === null && run.erasedAt !== undefined;
  if (text === null) return isSent || isWithheld ? null : CHANGED;
  if (!isSent && row.text !== text) return CHANGED;
  const isMail = [reply.channelClass, channelClass].includes("external_email");
  const needsApproval = isMail && row.state !== "waiting_approval" && row.state !== "failed";
  return needsApproval && !(await isAllowed(store, run.runId, { ...row, text })) ? UNAPPROVED : null;
}

/** A message may be tried again hours after it was allowed, so the approval is the one that released it: consumed. */
async function isAllowed(store: Reads, runId: RunId, row: OutboxRow): Promise<boolean> {
  const planHash = hashOfMail(row);
  const approvals = await store.approvalsOf(runId);
  return approvals.some(
    (asked) => asked.callId === CALL_OF_MAIL && asked.state === "consumed" && asked.planHash === planHash,
  );
}

/** What the run answers, by its journal; null when that is not known: not ended, changed, or erased. */
async function textOf(store: Reads, run: StoredRun): Promise<string | null> {
  const { runId, sessionId, contractHash, outcome, reason } = run;
  // Such a run has no last entry, and no answer; what it says is the same for all of them.
  if (outcome !== null && reason === "machine.diverged") return presentEnding({ runId, outcome, reason, answer: null });
  const lines: string[] = [];
  for (;;) {
    const page = await store.readEntries(runId, lines.length, PAGE);
    lines.push(...page);
    if (page.length < PAGE) break;
  }
  const verified = verifyJournal(lines.map((line) => `${line}\n`).join(""), { contractHash });
  const last = verified.ok ? verified.entries.at(-1) : undefined;
  if (last?.kind !== "TERMINATE") return null;
  const { decided, result } = last;
  const ending = { runId, outcome: decided.outcome, reason: decided.reason };
  if (result?.type !== "run.answered") return presentEnding({ ...ending, answer: null });
  const body = (await store.readBodies(sessionId, [result.ref], runId)).get(result.ref);
  return body === undefined || !isBodyOf(result.ref, body) ? null : presentEnding({ ...ending, answer: body.text });
}

const PAGE = 256;
