/**
 * Completes the prompt of a run when it begins: by then all that was said before it has been said, and AGENTS.md is as it is. Turns are read from their journals; those of sessions in use are remembered, so a turn reads one journal.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import { MINIMUM_OUTPUT_TOKENS } from "../../kernel/contract/preflight.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS, joinLabels, type Labels } from "../../kernel/vocabulary/labels.ts";
import {
  condensedPosition,
  notedState,
  readCheckpoint,
  summaryIn,
} from "../../runtime/checkpoint/session-checkpoint.ts";
import { memoryOwner } from "../../runtime/memory/memory-owner.ts";
import { ESTIMATED_TOKENS } from "../../runtime/model/estimate-tokens.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import type { PlacedRun, Store, StoredRun } from "../../runtime/ports/store.ts";
import type { RunRange, StoredSession } from "../../runtime/ports/stored-session.ts";
import type { Toolbox } from "../../runtime/ports/toolbox.ts";
import { contractOf, readBodiesOf, readWholeJournal } from "../../runtime/run/read-run.ts";
import { COMPACTION_SOURCE } from "../../runtime/run/run-rules.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import type { Memories } from "../memory/memories.ts";
import type { RetrievedBlock } from "../memory/retrieved-block.ts";
import { type AgentFileText, agentFileText, type ReadAgentFile } from "./agent-file.ts";
import {
  type BuiltContext,
  buildContext,
  type ContextParts,
  offeredTools,
  seenBy,
  turnsToKeep,
} from "./build-context.ts";
import type { ContextLimits, LimitsOf } from "./context-limits.ts";
import { contextText } from "./context-text.ts";
import { IMPORTED_LABELS, importedTurn } from "./imported-turn.ts";
import type { PromptTexts } from "./prompt-texts.ts";
import { type SessionTurn, turnOf } from "./session-turn.ts";
import { suppliedTexts } from "./supplied-context.ts";

const NOTHING_SAID = { context: null, turns: [], summarizedThrough: 0, writtenBy: null };
/** These ask about the model or a text alone, whatever the workspace says. */
const PLAIN_SOURCES: readonly string[] = [COMPACTION_SOURCE, "conformance", "run"];
/** The labels a run that continues the session begins with, for an explanation: those of all that may be sent to it. */
export async function sessionLabels(
  store: Pick<Store, "sessionRuns" | "findCheckpoint" | "importedTurns">,
  { sessionId, agentId }: Pick<StoredSession, "sessionId" | "agentId">,
  limitsOf: LimitsOf,
): Promise<Labels> {
  const checkpoint = await readCheckpoint(store, sessionId);
  const between = { after: checkpoint.condensedThrough, before: LATEST };
  const { maxTurns } = limitsOf(agentId);
  const runs = await store.sessionRuns(sessionId, between, maxTurns);
  const isWhole = checkpoint.condensedThrough === 0 && runs.length < maxTurns;
  const imported = isWhole ? await store.importedTurns(sessionId, { after: 0, before: 0 }, 1) : [];
  const seen = [
    ...imported.map(() => IMPORTED_LABELS),
    ...runs.flatMap(({ ended }) => (ended === null ? [] : [ended.labels])),
  ];
  return [notedState(checkpoint).labels, summaryIn(checkpoint)?.labels ?? CLEAN_LABELS, ...seen].reduce(joinLabels);
}

/** A few sessions' worth; a turn that was dropped is read again. */
const MAX_REMEMBERED = 500;

export interface SessionContextParts {
  readonly store: Store;
  readonly toolbox: Pick<Toolbox, "tools" | "summarize">;
  readonly texts: PromptTexts;
  readonly limitsOf: LimitsOf;
  readonly readAgentFile: ReadAgentFile;
  readonly redactor: Pick<Redactor, "redactText">;
  /** Null when the model is no longer configured. */
  readonly model: (ref: string) => ConfiguredModel | null;
  readonly clock: Pick<Clock, "monotonicMs" | "wake">;
  readonly idleMs: () => number;
  /** Absent: nothing is retrieved. */
  readonly memories?: Pick<Memories, "retrieve">;
}

/** The latest runs have any position. */
export const LATEST = Number.MAX_SAFE_INTEGER;

export class SessionContext {
  readonly #parts: SessionContextParts;
  readonly #turns = new Map<string, { readonly turn: SessionTurn | null; usedMs: number }>();
  #isWaking = false;

  constructor(parts: SessionContextParts) {
    this.#parts = parts;
  }

  /** The acceptance of a run that is about to begin, with the workspace's AGENTS.md and everything that was said before it. */
  readonly complete: RunPorts["completePrompt"] = async (run, acceptance, bodies) => {
    const { texts, toolbox, limitsOf, model: findModel } = this.#parts;
    const limits = limitsOf(run.agentId);
    const continuesSession = acceptance.continuesSession !== undefined;
    const agentFile = PLAIN_SOURCES.includes(run.source) ? null : await this.#agentFile(limits);
    const { context, turns, summarizedThrough, writtenBy } = continuesSession
      ? await this.read(run.sessionId, limits)
      : NOTHING_SAID;
    const message = bodies.read(acceptance.event.messageRef) ?? "";
    const retrieved = await this.#retrieve(run, message, writtenBy);
    if (!continuesSession && agentFile === null && retrieved === null) return acceptance;
    const contract = contractOf(run);
    const isLasting = acceptance.opening.some((item) => item.role === "system" && "id" in item && item.isQuotable);
    const { event } = acceptance;
    const model = findModel(run.model);
    await model?.tokens.prepare?.();
    const countTokens = (model?.tokens ?? ESTIMATED_TOKENS).count;
    const parts: ContextParts = {
      system: texts.layers(run.agentId, contract.channelClass, isLasting),
      ...{ agentFile, context, retrieved, turns, summarizedThrough, limits },
      supplied: suppliedTexts(acceptance.supplied ?? null, (ref) => bodies.read(ref)),
      message: {
        ref: event.messageRef,
        text: message,
        images: seenBy(model?.vision, event.media ?? []),
      },
      offered: offeredTools(toolbox, contract),
      toolsLeftOut: acceptance.manifest?.leftOut.tools ?? [],
      countTokens,
      keep: (text) => bodies.keep(text),
    };
    const built = withinWindow(parts, contract.contextBudget);
    const labels = built.labels === null ? event.labels : joinLabels(event.labels, built.labels);
    const { opening, prompt, manifest } = built;
    const items = (retrieved?.items ?? []).filter(() => manifest.layers.some(({ layer }) => layer === "memory"));
    const through = await this.#trimsThrough(run.sessionId, turns, limits, countTokens);
    const trims = through === null ? {} : { trimsThrough: through };
    return { ...acceptance, event: { ...event, labels, prompt, retrieved: [...items] }, opening, manifest, ...trims };
  };

  /** For the message of a person; a delegated run sees its task alone. `writtenBy`: the summary that the prompt holds. */
  async #retrieve(run: StoredRun, message: string, writtenBy: RunId | null): Promise<RetrievedBlock | null> {
    const { agentId, sessionId, source, parentRunId } = run;
    const { store, memories } = this.#parts;
    if (memories === undefined || PLAIN_SOURCES.includes(source) || parentRunId !== null) return null;
    return await memories.retrieve(
      message,
      async () => ({ agentId, owner: await memoryOwner(store, sessionId, contractOf(run).channelClass) }),
      (memory) => memory.source !== null && memory.source.runId === writtenBy,
    );
  }

  async #agentFile({ agentFileChars }: ContextLimits): Promise<AgentFileText | string | null> {
    const { readAgentFile, redactor } = this.#parts;
    const file = agentFileChars === 0 ? null : await readAgentFile();
    if (file === null) return null;
    if (!file.ok) return file.code;
    return agentFileText({ ...file, text: redactor.redactText(file.text).text }, agentFileChars);
  }

  /** Never past a run that has not ended: its turn is still to come. */
  async #trimsThrough(
    sessionId: SessionId,
    turns: readonly SessionTurn[],
    limits: ContextLimits,
    countTokens: (text: string) => number,
  ): Promise<number | null> {
    const old = turns.slice(0, turns.length - turnsToKeep(turns, limits, countTokens));
    if (old.length === 0) return null;
    const [oldest] = await this.#parts.store.openRunsOf(sessionId, 1);
    return old.findLast(({ position }) => position < (oldest?.position ?? LATEST))?.position ?? null;
  }

  /** What the session adds to the prompt of a run: its checkpoint and its latest turns, oldest first. */
  async read(
    sessionId: SessionId,
    limits: ContextLimits,
  ): Promise<Pick<ContextParts, "context" | "turns" | "summarizedThrough"> & { readonly writtenBy: RunId | null }> {
    const { store } = this.#parts;
    const checkpoint = await readCheckpoint(store, sessionId);
    const between = { after: checkpoint.condensedThrough, before: LATEST };
    // One more than is sent, so that the manifest can say that some are left out; compactions are few.
    const turns = await this.turns(sessionId, between, limits.maxTurns + 2);
    const summary = summaryIn(checkpoint);
    const noted = notedState(checkpoint);
    const text = contextText(noted, summary);
    const labels = joinLabels(noted.labels, summary?.labels ?? CLEAN_LABELS);
    return {
      context: text === null ? null : { text, revision: checkpoint.revision, labels },
      turns: turns.filter(({ erasedAt }) => erasedAt === undefined),
      summarizedThrough: condensedPosition(checkpoint),
      writtenBy: summary?.writtenBy ?? null,
    };
  }

  /** The last turns in between, oldest first; those that were imported come before all others. */
  async turns(
    sessionId: SessionId,
    between: RunRange,
    limit: number,
    limitsOf: LimitsOf = this.#parts.limitsOf,
  ): Promise<readonly SessionTurn[]> {
    const { store } = this.#parts;
    const { after, before } = between;
    const turns: SessionTurn[] = [];
    // Not every run is a turn: what those take of a page is read before it.
    for (let end = before; end > 0; ) {
      const wanted = limit - turns.length;
      const runs = await store.sessionRuns(sessionId, { after: Math.max(after, 0), before: end }, wanted);
      turns.unshift(...(await this.#turnsOf(runs, limitsOf)));
      if (turns.length === limit) return turns;
      end = runs.length < wanted ? 0 : (runs[0]?.position ?? 0);
    }
    const imported = after > 0 ? [] : await store.importedTurns(sessionId, between, limit - turns.length);
    return [...imported.map((stored) => importedTurn(sessionId, stored)), ...turns];
  }

  async #turnsOf(runs: readonly PlacedRun[], limitsOf: LimitsOf): Promise<readonly SessionTurn[]> {
    const turns: SessionTurn[] = [];
    for (const run of runs) {
      const turn = run.source === COMPACTION_SOURCE ? null : await this.#turn(run, limitsOf(run.agentId));
      if (turn !== null) turns.push(turn);
    }
    return turns;
  }

  async #turn(run: PlacedRun, limits: ContextLimits): Promise<SessionTurn | null> {
    const isUsual = hasSameCuts(limits, this.#parts.limitsOf(run.agentId));
    const known = isUsual ? this.#turns.get(run.runId) : undefined;
    if (known !== undefined) {
      known.usedMs = this.#parts.clock.monotonicMs();
      return known.turn;
    }
    const { entries } = await readWholeJournal(this.#parts.store, run.runId);
    const bodies = await readBodiesOf(this.#parts.store, run, entries);
    const turn = turnOf(run, entries, (ref) => bodies.get(ref)?.text ?? null, this.#parts.toolbox.summarize, limits);
    if (!isUsual) return turn;
    if (this.#turns.size >= MAX_REMEMBERED) this.#turns.clear();
    this.#turns.set(run.runId, { turn, usedMs: this.#parts.clock.monotonicMs() });
    this.#forgetLater();
    return turn;
  }

  /** Sessions that have been idle for so long are read again when they go on (T-2.1). */
  #forgetLater(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    const { clock, idleMs } = this.#parts;
    clock.wake(idleMs(), () => {
      this.#isWaking = false;
      const sinceMs = clock.monotonicMs() - idleMs();
      for (const [runId, { usedMs }] of this.#turns) if (usedMs <= sinceMs) this.#turns.delete(runId);
      if (this.#turns.size > 0) this.#forgetLater();
    });
  }

  /** What turns are made with has changed. */
  forgetTurns(): void {
    this.#turns.clear();
  }
}

const CUTS = ["messageChars", "summaryChars", "errorChars", "outputChars"] as const;

/** Then turns are made of the same texts. */
function hasSameCuts(one: ContextLimits, other: ContextLimits): boolean {
  return one === other || CUTS.every((cut) => one[cut] === other[cut]);
}

/** A model with a small window is sent fewer turns, and then no memories, rather than none of the message. */
function withinWindow(parts: ContextParts, contextBudget: ExecutionContract["contextBudget"]): BuiltContext {
  const { contextWindow, reservedSynthesis } = contextBudget;
  const most = contextWindow - Math.max(reservedSynthesis, MINIMUM_OUTPUT_TOKENS);
  let { maxTurns } = parts.limits;
  let built = buildContext(parts);
  while (built.prompt.tokens > most && maxTurns > 0) {
    maxTurns = Math.min(maxTurns, parts.turns.length) - 1;
    built = buildContext({ ...parts, limits: { ...parts.limits, maxTurns: Math.max(0, maxTurns) } });
  }
  return built.prompt.tokens > most && parts.retrieved
    ? withinWindow({ ...parts, retrieved: null }, contextBudget)
    : built;
}
