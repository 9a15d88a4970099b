/**
 * ApprovalQuestions asks the operator: it stores each question before a card is shown, and answers from the store what was
 * decided before. Verdicts are ApprovalDecisions', deadlines ApprovalExpiry's.
 *
 * A question has the same id after a restart: the id follows from run, step, call and plan. What became of an interrupted
 * effect is a new question for every attempt at the effect. Where no operator can be reached, permission is denied
 * immediately; the outcome of an effect is still asked, because it can be answered later. A question that the run no longer
 * asks, because its plan changed, is withdrawn.
 */
import type { Answer } from "../../kernel/journal/entry.ts";
import { ERASED } from "../../kernel/journal/views/body-content.ts";
import type { Command } from "../../kernel/machine/command.ts";
import { STATEMENT_TOKENS } from "../../kernel/machine/result.ts";
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import { type ApprovalId, asApprovalId, type RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { ApprovalCard } from "../ports/approver.ts";
import { timestampOf } from "../ports/clock.ts";
import { type Page, type Store, type StoredApproval, type StoredRun, StoreError } from "../ports/store.ts";
import { readAcceptance } from "../run/acceptance.ts";
import type { BodyCache } from "../run/body-cache.ts";
import { readBodies } from "../run/read-run.ts";
import type { RunPorts } from "../run-ports.ts";
import { decisionDraft } from "./approval-decisions.ts";
import { type QuestionBackground, readBackground } from "./question-background.ts";

type AskApproval = Extract<Command, { type: "ask-approval" }>;

export interface Question {
  readonly question: AskApproval;
  readonly tool: string;
  /** The whole plan, as an operator reads it. */
  readonly shown: string;
  readonly background: QuestionBackground;
  /** The last entry of the journal: after the intent, where the question is what became of it. */
  readonly seq: number;
  /** What was asked before a restore may have been answered after the backup: it is asked again. */
  readonly restoreId: string | null;
}

type QuestionPorts = Pick<RunPorts, "store" | "clock" | "approver" | "approvalTimeoutMs" | "redactor">;

export class ApprovalQuestions {
  readonly #ports: QuestionPorts;
  /** Called with the earliest deadline of the questions that are open now. */
  readonly #onOpen: (expiresAtMs: number) => void;
  /** The cards that the approver shows, by run. */
  readonly #shown = new Map<RunId, Set<ApprovalId>>();

  constructor(ports: QuestionPorts, onOpen: (expiresAtMs: number) => void) {
    this.#ports = ports;
    this.#onOpen = onOpen;
  }

  /** Returns the answers that are known, in the order in which they were decided; the rest is asked. */
  async ask(run: StoredRun, questions: readonly Question[], bodyCache: BodyCache): Promise<readonly Answer[]> {
    const { store, approver, clock } = this.#ports;
    const known = new Map((await store.approvalsOf(run.runId)).map((approval) => [approval.id, approval]));
    const asked = questions.map((question) => ({ ...question, id: approvalIdOf(run.runId, question) }));
    const decided = asked
      .flatMap(({ id, question }) => {
        const approval = known.get(id);
        return approval === undefined || isPending(approval) ? [] : [{ approval, question }];
      })
      .sort((a, b) => (a.approval.decidedAtMs ?? 0) - (b.approval.decidedAtMs ?? 0));
    const unknown = asked.filter(({ id }) => !known.has(id));
    const isReachable = approver.isReachable() && !readAcceptance(run.accepted).isUnattended;
    const unreachable = isReachable ? [] : unknown.filter(({ question }) => question.kind === "approve");
    const nowMs = clock.nowMs();
    const cards = unknown
      .filter((each) => !unreachable.includes(each))
      .map((each) => this.#cardOf(run, each, bodyCache, nowMs));
    const hasPending = cards.length > 0 || asked.some(({ id }) => known.get(id)?.state === "pending");
    if (hasPending) await this.#write(run, cards, bodyCache);
    const ids = new Set(asked.map(({ id }) => id));
    // With every answer known the run goes on, and may come back to what is open.
    if (decided.length < asked.length) {
      await this.#withdrawAll([...known.values()].filter((approval) => isPending(approval) && !ids.has(approval.id)));
    }
    for (const card of cards) this.#show(card);
    for (const { id, shown, background } of asked) {
      const approval = known.get(id);
      if (approval?.state === "pending") this.#show({ ...approval, shown, background });
    }
    const pending = [...cards, ...known.values()].filter(isPending);
    this.#onOpen(Math.min(Number.POSITIVE_INFINITY, ...pending.map(({ expiresAtMs }) => expiresAtMs)));
    return [
      ...decided.map(({ approval, question }) => answerOf(question, approval)),
      ...unreachable.map(({ question, id }) => unreachableAnswer(question, id)),
    ];
  }

  /** The run has ended, and the store has expired its questions: the cards are taken back. */
  withdraw(runId: RunId): void {
    for (const id of this.#shown.get(runId) ?? []) this.hide({ runId, id });
  }

  hide({ runId, id }: Pick<StoredApproval, "runId" | "id">): void {
    const ofRun = this.#shown.get(runId);
    ofRun?.delete(id);
    if (ofRun?.size === 0) this.#shown.delete(runId);
    this.#ports.approver.withdraw(id);
  }

  #show(card: ApprovalCard): void {
    const ofRun = this.#shown.get(card.runId) ?? new Set();
    this.#shown.set(card.runId, ofRun.add(card.id));
    this.#ports.approver.ask(card);
  }

  async #withdrawAll(approvals: readonly StoredApproval[]): Promise<void> {
    const { store, clock } = this.#ports;
    for (const approval of approvals) {
      this.hide(approval);
      try {
        const draft = decisionDraft(approval, "expired", "system", timestampOf(clock.nowMs()));
        await store.commit([{ type: "decide-approval", id: approval.id, draft }], "lazy");
      } catch (error) {
        // The operator answered at the same moment, so the question is closed as well.
        if (!(error instanceof StoreError && error.code === "store.conflict")) throw error;
      }
    }
  }

  #cardOf(run: StoredRun, asked: Question & { readonly id: ApprovalId }, bodyCache: BodyCache, nowMs: number) {
    // Stored and shown text is redacted; the plan's hash covers the bytes as they are.
    const shown = this.#ports.redactor.redactText(asked.shown).text;
    const background = this.#ports.redactor.redactJson(asked.background as unknown as JsonValue).value;
    const { kind, callId, step, planHash, why, labels } = asked.question;
    return {
      id: asked.id,
      runId: run.runId,
      sessionId: run.sessionId,
      callId,
      step,
      kind,
      tool: asked.tool,
      planRef: bodyCache.keep(shown),
      planHash,
      backgroundRef: bodyCache.keep(JSON.stringify(background)),
      why,
      labels,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + this.#ports.approvalTimeoutMs,
      state: "pending",
      decidedBy: null,
      decidedAtMs: null,
      shown,
      background: background as unknown as QuestionBackground,
    } satisfies ApprovalCard;
  }

  async #write({ runId, sessionId }: StoredRun, cards: readonly ApprovalCard[], bodyCache: BodyCache): Promise<void> {
    const bodies = bodyCache.takeUnwritten();
    await this.#ports.store.commit(
      [
        ...(bodies.length === 0 ? [] : [{ type: "put-bodies", sessionId, bodies } as const]),
        ...cards.map(
          ({ shown: _shown, background: _background, ...approval }) => ({ type: "insert-approval", approval }) as const,
        ),
        { type: "set-status", runId, status: "waiting_approval" },
      ],
      "barrier",
    );
  }
}

export async function pendingCards(store: Store, page: Page): Promise<readonly ApprovalCard[]> {
  return await toCards(store, await store.pendingApprovals(page));
}

export async function decidedCards(store: Store, page: Page): Promise<readonly ApprovalCard[]> {
  return await toCards(store, await store.decidedApprovals(page));
}

/** Questions as stored, with what was shown. */
function toCards(store: Store, approvals: readonly StoredApproval[]): Promise<readonly ApprovalCard[]> {
  return Promise.all(
    approvals.map(async (approval) => {
      const { sessionId, planRef, backgroundRef } = approval;
      const refs = backgroundRef === null ? [planRef] : [planRef, backgroundRef];
      const bodies = await readBodies(store, sessionId, refs, null);
      const background = backgroundRef === null ? null : (bodies.get(backgroundRef)?.text ?? null);
      return { ...approval, shown: bodies.get(planRef)?.text ?? ERASED, background: readBackground(background) };
    }),
  );
}

function isPending({ state }: StoredApproval): boolean {
  return state === "pending";
}

function approvalIdOf(runId: RunId, { question, seq, restoreId }: Question): ApprovalId {
  const { step, callId, planHash, kind, isRetry = false } = question;
  const place = [...(kind === "resolve" || isRetry ? [seq] : []), ...(restoreId === null ? [] : [restoreId])];
  return asApprovalId(`approval_${hashCanonical([runId, step, callId, planHash, kind, ...place]).slice(0, 24)}`);
}

function answerOf({ kind, aboutRun, step, callId, planHash }: AskApproval, approval: StoredApproval): Answer {
  const { id, state, decidedBy } = approval;
  const by = decidedBy ?? "system";
  if (kind === "resolve") {
    const decision = state === "done" || state === "retry" || state === "fail" ? state : "expired";
    if (aboutRun) return { type: "restore.resolved", step, decision, by };
    return { type: "effect.resolved", step, callId, decision, by, tokens: STATEMENT_TOKENS };
  }
  const answer = { type: "approval.decided", step, approvalId: id, callId, planHash } as const;
  // Consumed already: by this call, which its id proves. Allowed but expired by now: the run first learns that it was
  // allowed, and then (ApprovalDeadlines) that it lapsed. The store lets it be consumed once, and in time.
  if (state === "allowed" || state === "consumed") return { ...answer, decision: "allow", by };
  return state === "denied" ? { ...answer, decision: "deny", by } : { ...answer, decision: "expired", by: "system" };
}

function unreachableAnswer({ step, callId, planHash }: AskApproval, approvalId: ApprovalId): Answer {
  return { type: "approval.decided", step, approvalId, callId, planHash, decision: "unreachable", by: "system" };
}
