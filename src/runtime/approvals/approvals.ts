/**
 * Questions to people: asked durably, answered once, by somebody who was authenticated.
 *
 * A1. A question is durable before anybody is asked. The same question after a restart is the same question: its id
 *     follows from run, step, call and plan. What became of an effect is asked anew for every time it was set about:
 *     who let it be tried again has not said what became of that.
 * A2. Where nobody can be reached, permission is denied at once. What became of an interrupted effect is asked all the
 *     same: it may be answered later, until it expires.
 * A3. Silence is a denial. What was allowed but not used by its deadline allows no more: the run is told that it was
 *     allowed, and then, by whoever keeps its deadlines, that it lapsed. Deciding takes the hash of the plan that was
 *     shown; another one is a conflict.
 * A4. What a run no longer asks, since its plan has changed, is withdrawn; what it asked when it ended expired with its
 *     seal, and only whoever was asked has to be told.
 * A5. Silence is looked for until somebody could look: a failed search is repeated.
 */
import type { Answer } from "../../kernel/journal/entry.ts";
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import type { Command } from "../../kernel/machine/command.ts";
import { STATEMENT_TOKENS } from "../../kernel/machine/result.ts";
import { consumeApproval, decideApproval } from "../../kernel/policy/approval.ts";
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import { type ApprovalId, asApprovalId, type Hash, type RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { ApprovalCard } from "../ports/approver.ts";
import { timestampOf } from "../ports/clock.ts";
import {
  type ApprovalState,
  type Page,
  type StoredApproval,
  type StoredRun,
  StoreError,
  type Write,
} from "../ports/store.ts";
import { readAcceptance } from "../run/acceptance.ts";
import type { BodyCache } from "../run/body-cache.ts";
import type { RunPorts } from "../run-ports.ts";
import { pendingCards } from "./pending-cards.ts";

type AskApproval = Extract<Command, { type: "ask-approval" }>;

export interface Question {
  readonly question: AskApproval;
  readonly tool: string;
  /** The whole plan, as a person reads it. */
  readonly shown: string;
  /** Where the journal stands: behind the intent, when the question is what became of it. */
  readonly seq: number;
}

export interface ApprovalVerdict {
  readonly id: ApprovalId;
  readonly decision: "allow" | "deny" | "done" | "retry" | "fail";
  readonly planHash: Hash;
  readonly principal: string;
}

export type Decided =
  | { readonly ok: true; readonly runId: RunId }
  | { readonly ok: false; readonly code: "not_found" | "conflict" | "invalid.request"; readonly message: string };

/** Whoever was authenticated is the operator, so far: no token with less than this is given out. */
const OPERATE = "operate";
type Refusal = Extract<ReturnType<typeof decideApproval>, { ok: false }>;
const SWEEP_PAGE = 200;
const SWEEP_AGAIN_MS = 1_000;

export class Approvals {
  readonly #ports: Pick<RunPorts, "store" | "clock" | "approver" | "approvalTimeoutMs" | "redactor">;
  /** The run's question was answered: it can go on. */
  readonly #wakeRun: (runId: RunId) => void;
  #disarm: () => void = () => {};
  /** When silence next becomes an answer. */
  #armedFor = Number.POSITIVE_INFINITY;
  #isStopped = false;
  /** A sweep has seen every question there was; each since has passed through here. */
  #knowsAll = false;
  /** What the approver shows, by run. */
  readonly #shown = new Map<RunId, Set<ApprovalId>>();

  constructor(
    ports: Pick<RunPorts, "store" | "clock" | "approver" | "approvalTimeoutMs" | "redactor">,
    wakeRun: (runId: RunId) => void,
  ) {
    this.#ports = ports;
    this.#wakeRun = wakeRun;
  }

  /** What is answered already, in the order it was decided; the rest is asked and waited for. */
  async ask(run: StoredRun, questions: readonly Question[], bodyCache: BodyCache): Promise<readonly Answer[]> {
    const { store, approver, clock } = this.#ports;
    const known = new Map((await store.approvalsOf(run.runId)).map((approval) => [approval.id, approval]));
    const asked = questions.map((question) => ({ ...question, id: approvalIdOf(run.runId, question) }));
    const decided = asked
      .flatMap(({ id, question }) => {
        const approval = known.get(id);
        return approval === undefined || approval.state === "pending" ? [] : [{ approval, question }];
      })
      .sort((a, b) => (a.approval.decidedAtMs ?? 0) - (b.approval.decidedAtMs ?? 0));
    const fresh = asked.filter(({ id }) => !known.has(id));
    const isReachable = approver.isReachable() && !readAcceptance(run.accepted).isUnattended;
    const unreachable = isReachable ? [] : fresh.filter(({ question }) => question.kind === "approve");
    const open = fresh.filter((each) => !unreachable.includes(each));
    const nowMs = clock.nowMs();
    const cards = open.map((each) => ({ ...this.#cardOf(run, each, bodyCache, nowMs), id: each.id }));
    const hasPending = cards.length > 0 || asked.some(({ id }) => known.get(id)?.state === "pending");
    if (hasPending) await this.#write(run, cards, bodyCache);
    const ids = new Set(asked.map(({ id }) => id));
    await this.#withdrawAll([...known.values()].filter((approval) => isPending(approval) && !ids.has(approval.id)));
    for (const card of cards) this.#show(card);
    for (const { id, shown } of asked) {
      const approval = known.get(id);
      if (approval?.state === "pending") this.#show({ ...approval, shown });
    }
    const expiries = [...cards, ...known.values()].filter(isPending).map(({ expiresAtMs }) => expiresAtMs);
    this.#arm(Math.min(this.#armedFor, ...expiries));
    return [
      ...decided.map(({ approval, question }) => answerOf(question, approval, nowMs)),
      ...unreachable.map(({ question, id }) => unreachableAnswer(question, id)),
    ];
  }

  async decide({ id, decision, planHash, principal }: ApprovalVerdict): Promise<Decided> {
    const { store, clock } = this.#ports;
    const approval = await store.findApproval(id);
    if (approval === null) return refuse("not_found", `there is no approval ${id}`);
    const answers = approval.kind === "approve" ? ["allow", "deny"] : ["done", "retry", "fail"];
    if (!answers.includes(decision)) {
      return refuse("invalid.request", `this question is answered by ${answers.join(", ")}`);
    }
    const atMs = clock.nowMs();
    const by = { principal, scopes: [OPERATE] };
    // From the deadline on silence has been the answer, even if nobody has written it down yet.
    const decided = decideApproval({ ...approval, requiredScope: OPERATE }, { decision, planHash, by, nowMs: atMs });
    if (!decided.ok) return refuse("conflict", OBJECTIONS[decided.code](approval));
    return this.#settle(approval, decided.approval.state, principal, atMs);
  }

  /** Until when what was asked for the run may be used. */
  async deadlinesOf(runId: RunId): Promise<ReadonlyMap<ApprovalId, number>> {
    const approvals = await this.#ports.store.approvalsOf(runId);
    return new Map(approvals.map(({ id, expiresAtMs }) => [id, expiresAtMs]));
  }

  async pending(page: Page): Promise<readonly ApprovalCard[]> {
    const { store } = this.#ports;
    // People who look often look at nothing: that needs no database.
    if (this.#knowsAll && this.#armedFor === Number.POSITIVE_INFINITY) return [];
    return await pendingCards(store, page);
  }

  /** Denies what has expired and looks again when the next one will. */
  async sweep(): Promise<void> {
    const { store, clock } = this.#ports;
    // Whatever is asked while we look arms itself.
    this.#knowsAll = false;
    this.#arm(Number.POSITIVE_INFINITY);
    let next = Number.POSITIVE_INFINITY;
    for (let offset = 0; ; ) {
      const page = await store.pendingApprovals({ limit: SWEEP_PAGE, offset });
      for (const approval of page) {
        const nowMs = clock.nowMs();
        if (nowMs < approval.expiresAtMs) {
          next = Math.min(next, approval.expiresAtMs);
          offset += 1;
        } else {
          await this.#settle(approval, "expired", "system", nowMs);
        }
      }
      if (page.length < SWEEP_PAGE) break;
    }
    this.#arm(Math.min(this.#armedFor, next));
    this.#knowsAll = true;
  }

  /** The run has ended, and its questions with it: whoever was asked need not answer any more. */
  withdraw(runId: RunId): void {
    for (const id of this.#shown.get(runId) ?? []) this.#hide(runId, id);
  }

  stop(): void {
    this.#isStopped = true;
    this.#disarm();
  }

  #show(card: ApprovalCard): void {
    const ofRun = this.#shown.get(card.runId) ?? new Set();
    this.#shown.set(card.runId, ofRun.add(card.id));
    this.#ports.approver.ask(card);
  }

  #hide(runId: RunId, id: ApprovalId): void {
    const ofRun = this.#shown.get(runId);
    ofRun?.delete(id);
    if (ofRun?.size === 0) this.#shown.delete(runId);
    this.#ports.approver.withdraw(id);
  }

  async #withdrawAll(approvals: readonly StoredApproval[]): Promise<void> {
    const { store, clock } = this.#ports;
    for (const { id, runId } of approvals) {
      this.#hide(runId, id);
      try {
        const atMs = clock.nowMs();
        await store.commit([{ type: "decide-approval", id, state: "expired", by: "system", atMs }], "lazy");
      } catch (error) {
        // Somebody answered in the same moment: then nobody is asked any more, either.
        if (!isConflict(error)) throw error;
      }
    }
  }

  async #settle(
    approval: StoredApproval,
    state: Exclude<ApprovalState, "pending" | "consumed">,
    by: string,
    atMs: number,
  ): Promise<Decided> {
    const { store } = this.#ports;
    const { id, runId } = approval;
    try {
      await store.commit(
        [
          { type: "decide-approval", id, state, by, atMs },
          { type: "append-ledger", draft: ledgerDraft(approval, state, by, timestampOf(atMs)) } as Write,
        ],
        "barrier",
      );
    } catch (error) {
      if (isConflict(error)) return refuse("conflict", "it was decided already");
      throw error;
    }
    this.#hide(runId, id);
    this.#wakeRun(runId);
    return { ok: true, runId };
  }

  #cardOf(run: StoredRun, asked: Question, bodyCache: BodyCache, nowMs: number): ApprovalCard {
    const { tool } = asked;
    // What is kept and shown is redacted like everything else; the hash binds the bytes as they are.
    const shown = this.#ports.redactor.redactText(asked.shown).text;
    const { kind, callId, step, planHash, why, labels } = asked.question;
    return {
      id: approvalIdOf(run.runId, asked),
      runId: run.runId,
      sessionId: run.sessionId,
      callId,
      step,
      kind,
      tool,
      planRef: bodyCache.keep(shown),
      planHash,
      why,
      labels,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + this.#ports.approvalTimeoutMs,
      state: "pending",
      decidedBy: null,
      decidedAtMs: null,
      shown,
    };
  }

  async #write({ runId, sessionId }: StoredRun, cards: readonly ApprovalCard[], bodyCache: BodyCache): Promise<void> {
    const bodies = bodyCache.takeUnwritten();
    await this.#ports.store.commit(
      [
        ...(bodies.length === 0 ? [] : [{ type: "put-bodies", sessionId, bodies } as const]),
        ...cards.map(({ shown: _shown, ...approval }) => ({ type: "insert-approval", approval }) as const),
        { type: "set-status", runId, status: "waiting_approval" },
      ],
      "barrier",
    );
  }

  #arm(atMs: number): void {
    this.#disarm();
    this.#armedFor = atMs;
    if (!Number.isFinite(atMs) || this.#isStopped) return;
    const { clock } = this.#ports;
    const delayMs = Math.max(0, atMs - clock.nowMs());
    this.#disarm = clock.wake(delayMs, () => {
      // A store that failed for good has told its owner, who stops us; one that was busy can be read again.
      this.sweep().catch(() => this.#arm(Math.min(this.#armedFor, clock.nowMs() + SWEEP_AGAIN_MS)));
    });
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof StoreError && error.code === "store.conflict";
}

function isPending({ state }: StoredApproval): boolean {
  return state === "pending";
}

function approvalIdOf(runId: RunId, { question: { step, callId, planHash, kind }, seq }: Question): ApprovalId {
  const place = kind === "resolve" ? [seq] : [];
  return asApprovalId(`approval_${hashCanonical([runId, step, callId, planHash, kind, ...place]).slice(0, 24)}`);
}

const OBJECTIONS: Readonly<Record<Refusal["code"], (approval: StoredApproval) => string>> = {
  "auth.forbidden": () => "it is not yours to decide",
  expired: () => "it has expired",
  "already-decided": ({ state }) => `it was ${state} already`,
  conflict: () => "the plan is not the one that was shown",
};

function answerOf({ kind, step, callId, planHash }: AskApproval, approval: StoredApproval, nowMs: number): Answer {
  const { id, state, decidedBy, runId, sessionId } = approval;
  const by = decidedBy ?? "system";
  if (kind === "resolve") {
    const decision = state === "done" || state === "retry" || state === "fail" ? state : "expired";
    return { type: "effect.resolved", step, callId, decision, by, tokens: STATEMENT_TOKENS };
  }
  const use = consumeApproval({ ...approval, requiredScope: OPERATE }, { runId, sessionId, callId, planHash, nowMs });
  const answer = { type: "approval.decided", step, approvalId: id, callId, planHash } as const;
  // Used up already, by this very call: its id says so. Or allowed, and lapsed since, which is not to say that nobody answered.
  const wasAllowed = use.ok || use.code === "already-consumed" || (use.code === "expired" && state === "allowed");
  if (wasAllowed) return { ...answer, decision: "allow", by };
  return state === "denied" ? { ...answer, decision: "deny", by } : { ...answer, decision: "expired", by: "system" };
}

function unreachableAnswer({ step, callId, planHash }: AskApproval, approvalId: ApprovalId): Answer {
  return { type: "approval.decided", step, approvalId, callId, planHash, decision: "unreachable", by: "system" };
}

function ledgerDraft(
  { kind, runId, callId, id, planHash }: StoredApproval,
  state: ApprovalState,
  actor: string,
  ts: string,
): LedgerDraft<"approval.decided"> | LedgerDraft<"effect.resolved"> {
  if (kind === "resolve") {
    const decision = state === "done" || state === "retry" || state === "fail" ? state : "expired";
    return { kind: "effect.resolved", ts, actor, data: { runId, callId, decision } };
  }
  const decision = state === "allowed" ? "allow" : state === "denied" ? "deny" : "expired";
  return { kind: "approval.decided", ts, actor, data: { runId, callId, approvalId: id, planHash, decision } };
}

function refuse(code: "not_found" | "conflict" | "invalid.request", message: string): Decided {
  return { ok: false, code, message };
}
