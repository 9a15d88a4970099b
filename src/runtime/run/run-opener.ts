/**
 * RunOpener turns a run id into a driver that is ready to start: it restores the run, reads what its session may do, and
 * wires driver, executor and journal. A run whose journal does not replay is sealed here and gets no driver.
 */

import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { compileDisclosureGuard, type DisclosureGuard } from "../../kernel/redaction/disclosure-guard.ts";
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import type { BodyRef, Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Approvals } from "../approvals/approvals.ts";
import type { Authority } from "../capabilities/authority.ts";
import type { Capabilities } from "../capabilities/capabilities.ts";
import { condenseWrites } from "../checkpoint/condense.ts";
import { readCheckpoint, SessionCheckpoint } from "../checkpoint/session-checkpoint.ts";
import { memoryOwner } from "../memory/memory-owner.ts";
import { ESTIMATED_TOKENS } from "../model/estimate-tokens.ts";
import type { CallFacts } from "../model/model-call.ts";
import { timestampOf } from "../ports/clock.ts";
import type { TokenCounter } from "../ports/model-backend.ts";
import { type StoredRun, StoreError, type Write } from "../ports/store.ts";
import type { RunPorts } from "../run-ports.ts";
import { spendScopes } from "../spend/budget-scopes.ts";
import { SpendAccount, usedIn } from "../spend/spend-account.ts";
import { type Acceptance, openingMessages, openingRefs, protectedPromptIds } from "./acceptance.ts";
import type { AcceptedRuns, OpenedRun } from "./accepted-runs.ts";
import { BodyCache } from "./body-cache.ts";
import { type ChildRuns, CommandExecutor } from "./command-executor.ts";
import { Conversation } from "./conversation.ts";
import { readBodiesOf } from "./read-run.ts";
import type { ReplyBatcher } from "./reply-batcher.ts";
import type { RunBroadcaster } from "./run-broadcaster.ts";
import { RunDriver } from "./run-driver.ts";
import { type JournalDependencies, RunJournal } from "./run-journal.ts";
import { sealDiverged } from "./seal-diverged.ts";

export interface OpenerDependencies {
  readonly ports: RunPorts;
  readonly accepted: AcceptedRuns;
  readonly approvals: Approvals;
  readonly capabilities: Capabilities;
  readonly broadcaster: RunBroadcaster;
  readonly replies: ReplyBatcher;
  readonly children: ChildRuns;
  /** The text of a system prompt, by its id. */
  readonly systemText: (id: string) => string;
  /** What a summarizer of tool outputs is instructed. */
  readonly outputSummaryInstruction: string;
  readonly onEntries: (run: StoredRun, entries: readonly Entry[]) => void;
  readonly onStoreError: (runId: RunId, error: unknown) => void;
}

export interface ReadyRun {
  readonly run: StoredRun;
  /** Null when the run has just been sealed because its journal does not replay. */
  readonly driver: RunDriver | null;
  /** To be called when the driver has exited, or is not started. */
  readonly close: () => void;
}

type RestoredRun = Extract<OpenedRun, { ok: true }>;

export class RunOpener {
  readonly #parts: OpenerDependencies;
  /** Compiled once for each set of system texts (P-2.5): runs share prompts. */
  readonly #guards = new Map<string, DisclosureGuard>();

  constructor(parts: OpenerDependencies) {
    this.#parts = parts;
  }

  /** Null when there is nothing to drive: no such run, ended, or refused by the store. */
  async open(runId: RunId): Promise<ReadyRun | null> {
    const { ports, accepted, capabilities, broadcaster } = this.#parts;
    const opened = await accepted.open(runId);
    if (opened === null) return null;
    const { run } = opened;
    if (!opened.ok) {
      await sealDiverged(ports, run, opened.entries);
      return { run, driver: null, close: () => {} };
    }
    const authority = await capabilities.authorityFor(run);
    const close = (): void => {
      capabilities.release(authority);
      broadcaster.dropText(runId);
    };
    try {
      const driver = await this.#driverOf(opened, authority);
      if (await opened.isDurable) return { run, driver, close };
    } catch (error) {
      close();
      throw error;
    }
    close();
    return null;
  }

  async #driverOf(opened: RestoredRun, authority: Authority): Promise<RunDriver> {
    const { run, entries, state, bodies, restoreId } = opened;
    const { approvals, broadcaster, replies, children, systemText, onStoreError } = this.#parts;
    // What is configured may change: the run keeps what it begins with.
    const ports = { ...this.#parts.ports };
    const bodyCache = new BodyCache(ports.random, bodies);
    const acceptance = await this.#completed(opened, bodyCache);
    const opening = openingMessages(acceptance, systemText, (ref) => bodyCache.read(ref));
    const conversation = new Conversation(opening, (ref) => bodyCache.read(ref));
    conversation.append(entries);
    const systemTexts = protectedPromptIds(acceptance).map(systemText);
    const configured = ports.model(run.model);
    // A model that lost its vision is not the one the run was accepted for: dropping the images would change the question.
    const model = acceptance.event.media !== undefined && configured?.vision === undefined ? null : configured;
    if (model !== null && model.tokens.prepare !== null) await model.tokens.prepare();
    const day = timestampOf(ports.clock.nowMs()).slice(0, 10);
    const account = new SpendAccount(run, model, await spendScopes(ports, run, state.contract, day), usedIn(entries));
    const checkpoint = new SessionCheckpoint(
      run.sessionId,
      await readCheckpoint(ports.store, run.sessionId, () => ports.onDefect("checkpoint", forgedCheckpoint(run))),
      acceptance.trimsThrough ?? null,
      {
        ...{ runId: run.runId, agentId: run.agentId },
        owner: await memoryOwner(ports.store, run.sessionId, state.contract.channelClass),
      },
    );
    const onModelCall = modelCallReporter(ports, run, acceptance, state.contract, bodyCache);
    const executor = new CommandExecutor({
      ...{ ports, run, bodyCache, conversation, account, authority, approvals, model, replies, broadcaster, children },
      checkpoint,
      takesNotes: acceptance.condenses === undefined,
      onModelCall,
      summarizer: this.#summarizerOf(state.contract, run, onModelCall),
      guard: this.#guardFor(systemTexts),
      // The model may be configured without thinking since the run was accepted.
      effort: (model?.thinking && acceptance.thinkingLevel) ?? null,
    });
    const journal = new RunJournal(
      {
        ...{
          store: ports.store,
          presentEnding: ports.presentEnding,
          run,
          acceptance,
          bodyCache,
          account,
          authority,
          checkpoint,
          broadcaster,
        },
        condensed: condenser(run.runId, acceptance, checkpoint, bodyCache, model?.tokens ?? ESTIMATED_TOKENS),
        onEntries: this.#parts.onEntries,
        childWrites: (callId) => executor.childWrites(callId),
        onRefused: (error) => driver.refuse(error),
      },
      state,
    );
    const driver: RunDriver = new RunDriver(
      {
        ...{ ports, run, acceptance, restoreId, conversation, authority, executor, journal },
        onStoreError: (error) => onStoreError(run.runId, error),
      },
      state,
    );
    return driver;
  }

  /** A run gets its whole prompt now: what was said before it has been said, and files are as they are. */
  async #completed({ run, acceptance, entries }: RestoredRun, bodyCache: BodyCache): Promise<Acceptance> {
    const { store, completePrompt } = this.#parts.ports;
    if (entries.length > 0) return acceptance;
    const completed = await completePrompt(run, acceptance, bodyCache);
    if (completed === acceptance) return acceptance;
    const { runId, sessionId } = run;
    // Before the run's first entry, which is written after this; nothing waits for it.
    const writes: readonly Write[] = [
      { type: "put-bodies", sessionId, bodies: bodyCache.takeUnwritten() },
      { type: "complete-acceptance", runId, accepted: JSON.stringify(completed) },
    ];
    store.commit(writes, "lazy").catch((error: unknown) => this.#parts.onStoreError(runId, error));
    const earlier = openingRefs(completed).filter((ref) => bodyCache.find(ref) === null);
    bodyCache.learn(await readBodiesOf(store, run, [], earlier));
    return completed;
  }

  /** Null also when the model is no longer configured: outputs are then truncated. */
  #summarizerOf(
    { toolOutputBudget: { summarizerModel } }: ExecutionContract,
    run: StoredRun,
    onModelCall: (call: CallFacts) => void,
  ) {
    const { ports, outputSummaryInstruction: instruction } = this.#parts;
    const model = summarizerModel === null ? null : ports.model(summarizerModel);
    return model === null ? null : { model, instruction, run, onModelCall };
  }

  #guardFor(systemTexts: readonly string[]): DisclosureGuard {
    const key = systemTexts.join("\0");
    const guard = this.#guards.get(key) ?? compileDisclosureGuard(systemTexts);
    this.#guards.set(key, guard);
    return guard;
  }
}

function modelCallReporter(
  { onModelCall }: RunPorts,
  run: StoredRun,
  { manifest, event: { messageRef, prompt } }: Acceptance,
  { channelClass }: ExecutionContract,
  bodyCache: BodyCache,
): (call: CallFacts) => void {
  let hash: Hash | null = null;
  const messageHash = (): Hash | null => {
    const text = hash === null ? bodyCache.read(messageRef) : null;
    if (text !== null) hash = hashBytes(text);
    return hash;
  };
  const manifestHash = prompt.manifest;
  return (call) => onModelCall?.({ ...call, run, manifest, manifestHash, channelClass, messageHash });
}

/** Null unless the run is a compaction. */
function condenser(
  runId: RunId,
  { condenses, event }: Acceptance,
  checkpoint: SessionCheckpoint,
  bodyCache: BodyCache,
  { count: countTokens }: TokenCounter,
): JournalDependencies["condensed"] {
  if (condenses === undefined) return null;
  const read = (ref: BodyRef): string | null => bodyCache.read(ref);
  const transcript = read(event.messageRef) ?? "";
  return (stated) => condenseWrites({ runId, condenses, checkpoint, transcript, read, countTokens }, stated);
}

function forgedCheckpoint({ sessionId }: StoredRun): StoreError {
  const what = `the checkpoint of ${sessionId} was changed outside of surety, so nothing of it is used`;
  return new StoreError("store.corrupt", `${what}; run surety verify --home`);
}
