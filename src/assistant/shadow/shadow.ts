/**
 * The shadow loop (T-5): what its watchers find becomes a ghost, and an operator's word on a ghost becomes a run.
 *
 * S1. Nothing is watched unless `shadow.enabled`: no thread, no timer, no query. Nothing here calls a model; only a run does.
 * S2. What waits to appear is bounded in number and age, one for each subject, and is dropped when it is no longer so.
 * S3. An action starts a run like any other: drafted, decided by policy, approved where policy asks. Its message is labelled
 *     private and untrusted, since it quotes what was watched. Repeated, it finds the run it has started.
 * S4. Texts are redacted before they are stored.
 */
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { cutText } from "../../kernel/vocabulary/cut-text.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import { type Caller, type Refusal, refuse } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { newId, type RandomBytes } from "../../runtime/ports/randomness.ts";
import { type Page, type Store, StoreError } from "../../runtime/ports/store.ts";
import type { GhostState, NewGhost, StoredGhost, StoredGhostAction } from "../../runtime/ports/stored-ghost.ts";
import type { EventBus } from "../events/event-bus.ts";
import type { Assistant } from "../runs/open-assistant.ts";
import { HOUR_MS, type Pace, waitBeforeGhost } from "./ghost-rules.ts";
import type { Finding, Trouble } from "./trouble.ts";
import { wireGhost } from "./wire-ghost.ts";
import { actionsOf, planId, type ShowPath, wordGhost } from "./word-ghost.ts";

export const SHADOW_LABELS: Labels = { integrity: "untrusted", confidentiality: "private" };

const AGENT = "main";
const MAX_PENDING = 32;
/** What has waited for so long is not worth a notice. */
const MAX_PENDING_MS = 600_000;
/** What was dismissed is not said again for so long. */
const DISMISSED_MS = 24 * HOUR_MS;
const MAX_KEPT = 1_000;
const MAX_TEXT_CHARS = 500;
const MAX_MESSAGE_CHARS = 20_000;
/** A message holds it whole. */
const MAX_REPAIR_CHARS = MAX_MESSAGE_CHARS - 5_000;
const MAX_OPEN_READ = 100;

export interface Watchers {
  stop(): Promise<void>;
}

export interface ShadowParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly redactor: Pick<Redactor, "redactText">;
  readonly assistant: Pick<Assistant, "submit">;
  readonly events: Pick<EventBus, "emit">;
  /** As configured; null: the shadow loop is off. */
  readonly pace: () => Pace | null;
  readonly showPath: ShowPath;
  /** `lookAgain`: files that open ghosts are about. What is found is dealt with in turn; nothing waits for that. */
  readonly watch: (lookAgain: readonly string[], onFinding: (finding: Finding) => Promise<void>) => Promise<Watchers>;
  readonly onDefect: (error: unknown) => void;
}

interface Pending {
  readonly trouble: Trouble;
  readonly sinceMs: number;
}

export class Shadow {
  readonly #parts: ShadowParts;
  readonly #pending = new Map<string, Pending>();
  #watchers: Watchers | null = null;
  #isStopped = false;
  #turn: Promise<void> = Promise.resolve();
  #cancelWake: (() => void) | null = null;

  constructor(parts: ShadowParts) {
    this.#parts = parts;
  }

  /** Watches as it is configured by now, or no more; until it does. */
  restart(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#stopWatching();
      if (!this.#isStopped && this.#parts.pace() !== null) await this.#startWatching();
    });
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#inTurn(() => this.#stopWatching());
  }

  /** Newest first. */
  list(state: GhostState | null, page: Page): Promise<readonly StoredGhost[]> {
    return this.#parts.store.listGhosts({ state }, page);
  }

  /** `action`: its label, its type, or the id of its plan. */
  async act(
    id: string,
    action: string,
    planned: string | null,
    caller: Caller,
  ): Promise<{ readonly ok: true; readonly ghost: StoredGhost } | Refusal> {
    const { store, assistant } = this.#parts;
    const ghost = await store.findGhost(id);
    if (ghost === null) return refuse("not_found", "there is no such ghost; see GET /api/ghosts");
    const chosen = findAction(ghost, action);
    if (chosen === null) {
      const labels = ghost.actions.map(({ label }) => `"${label}"`).join(", ");
      return refuse("invalid.request", `this ghost has no action ${action}; it has ${labels}`);
    }
    if (chosen.plan === undefined) return await this.#decide(ghost, "dismissed", caller.principal, null);
    const { plan } = chosen;
    if (plan.id !== planId(ghost.id, plan.message)) {
      return refuse("conflict", "this plan is not the one that was proposed; dismiss the ghost");
    }
    if (planned !== null && planned !== plan.id) return refuse("conflict", "this ghost has another plan by now");
    if (ghost.state !== "open" && ghost.state !== "acted") return alreadyDecided(ghost);
    const submitted = await assistant.submit({
      agentId: AGENT,
      message: plan.message,
      labels: SHADOW_LABELS,
      ...{ sessionId: null, model: null, thinkingMode: null, contract: {}, approvedTools: [] },
      source: caller.source,
      principal: caller.principal,
      // Two presses, or one before and one after a crash, are one run.
      idempotencyKey: `ghost ${ghost.id}`,
    });
    if (!submitted.ok) return ghost.state === "acted" ? alreadyDecided(ghost) : submitted;
    return await this.#decide(ghost, "acted", caller.principal, submitted.runId);
  }

  async #decide(
    ghost: StoredGhost,
    state: "acted" | "dismissed",
    by: string,
    runId: StoredGhost["runId"],
  ): Promise<{ readonly ok: true; readonly ghost: StoredGhost } | Refusal> {
    const { store, clock } = this.#parts;
    try {
      await store.commit([{ type: "decide-ghost", id: ghost.id, state, by, atMs: clock.nowMs(), runId }], "barrier");
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "store.conflict")) throw error;
      return alreadyDecided((await store.findGhost(ghost.id)) ?? ghost);
    }
    return { ok: true, ghost: (await store.findGhost(ghost.id)) ?? ghost };
  }

  async #startWatching(): Promise<void> {
    const { store, watch } = this.#parts;
    const open = await store.listGhosts({ state: "open" }, { limit: MAX_OPEN_READ, offset: 0 });
    const lookAgain = open.flatMap(({ path }) => (path === null ? [] : [path]));
    this.#watchers = await watch(lookAgain, (finding) => this.#inTurn(() => this.#take(finding)));
  }

  async #stopWatching(): Promise<void> {
    this.#cancelWake?.();
    this.#cancelWake = null;
    this.#pending.clear();
    const watchers = this.#watchers;
    this.#watchers = null;
    await watchers?.stop();
  }

  async #take(finding: Finding): Promise<void> {
    const { store, clock, events } = this.#parts;
    if (this.#watchers === null) return;
    const { subject } = finding;
    if (finding.type === "settled") {
      this.#pending.delete(subject);
      const latest = await store.latestGhostOf(subject);
      if (latest?.state !== "open") return;
      const atMs = clock.nowMs();
      await store.commit(
        [{ type: "decide-ghost", id: latest.id, state: "settled", by: null, atMs, runId: null }],
        "eager",
      );
      return;
    }
    events.emit("shadow.event", { detector: finding.trouble.kind, subject });
    this.#pending.delete(subject);
    this.#pending.set(subject, { trouble: finding.trouble, sinceMs: clock.monotonicMs() });
    for (const oldest of this.#pending.keys()) {
      if (this.#pending.size <= MAX_PENDING) break;
      this.#pending.delete(oldest);
    }
    await this.#deliver();
  }

  /** The newest that waits, as soon as one may appear. */
  async #deliver(): Promise<void> {
    const { store, clock } = this.#parts;
    this.#cancelWake?.();
    this.#cancelWake = null;
    const pace = this.#parts.pace();
    if (pace === null || this.#watchers === null) return;
    for (const [subject, pending] of [...this.#pending].reverse()) {
      const ghost = this.#worded(subject, pending.trouble);
      const isStale = clock.monotonicMs() - pending.sinceMs > MAX_PENDING_MS;
      if (isStale || (await this.#wasSaid(ghost))) {
        this.#pending.delete(subject);
        continue;
      }
      const nowMs = clock.nowMs();
      const times = await store.ghostTimes(nowMs - HOUR_MS, pace.maxGhostsPerHour);
      const waitMs = waitBeforeGhost(times, nowMs, pace);
      if (waitMs === null) return this.#pending.clear();
      if (waitMs > 0) {
        this.#cancelWake = clock.wake(waitMs, () => this.#inTurn(() => this.#deliver()));
        return;
      }
      this.#pending.delete(subject);
      await this.#appear({ ...ghost, createdAtMs: nowMs });
    }
  }

  async #appear(ghost: NewGhost): Promise<void> {
    const { store, events } = this.#parts;
    await store.commit([{ type: "insert-ghost", ghost, keep: MAX_KEPT }], "barrier");
    events.emit(
      "shadow.ghost",
      wireGhost({ ...ghost, state: "open", decidedBy: null, decidedAtMs: null, runId: null }),
    );
  }

  /** The same is open, or was dismissed not long ago. */
  async #wasSaid(ghost: NewGhost): Promise<boolean> {
    const { store, clock } = this.#parts;
    const latest = await store.latestGhostOf(ghost.subject);
    if (latest === null || latest.observation !== ghost.observation) return false;
    const isRecent = clock.nowMs() - (latest.decidedAtMs ?? 0) < DISMISSED_MS;
    return latest.state === "open" || (latest.state === "dismissed" && isRecent);
  }

  #worded(subject: string, trouble: Trouble): NewGhost {
    const { random, redactor, showPath } = this.#parts;
    const { asks, ...words } = wordGhost(this.#withSafeRepair(trouble), showPath);
    const id = newId("ghost", random);
    const clean = (text: string, maxChars = MAX_TEXT_CHARS): string =>
      cutText(redactor.redactText(text.toWellFormed()).text, maxChars);
    return {
      ...{ id, subject, detector: trouble.kind, path: words.path, confidence: words.confidence, createdAtMs: 0 },
      trigger: clean(words.trigger),
      observation: clean(words.observation),
      proposal: clean(words.proposal),
      actions: actionsOf(
        id,
        asks.map((ask) => ({ ...ask, message: clean(ask.message, MAX_MESSAGE_CHARS) })),
      ),
    };
  }

  /** A repair is the whole file: written back redacted or cut, it would destroy what it leaves out. */
  #withSafeRepair(trouble: Trouble): Trouble {
    if (trouble.kind !== "syntax-error" || trouble.repaired === null) return trouble;
    const { repaired } = trouble;
    const isSafe = repaired.length <= MAX_REPAIR_CHARS && this.#parts.redactor.redactText(repaired).text === repaired;
    return isSafe ? trouble : { ...trouble, repaired: null };
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((error: unknown) => {
      const isAway = error instanceof StoreError && ["store.closed", "store.unavailable"].includes(error.code);
      if (!isAway) this.#parts.onDefect(error);
    });
    return this.#turn;
  }
}

function findAction({ actions }: StoredGhost, named: string): StoredGhostAction | null {
  const lower = named.toLowerCase();
  return (
    actions.find(({ label, plan }) => label.toLowerCase() === lower || plan?.id === named) ??
    actions.find(({ type }) => type === lower) ??
    null
  );
}

function alreadyDecided({ state }: StoredGhost): Refusal {
  return refuse("conflict", `this ghost is ${state} already`);
}
