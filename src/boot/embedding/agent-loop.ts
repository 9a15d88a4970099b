/** The seed's AgentLoop (T-3.1): each message is a run of its session, shown by the views of its journal. */
import type { RunRequest } from "../../assistant/runs/run-request.ts";
import { DEFAULT_TERMS } from "../../kernel/contract/default-terms.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { agentChunks } from "../../kernel/journal/views/agent-chunks.ts";
import { type LoopSurroundings, loopState } from "../../kernel/journal/views/loop-state.ts";
import { asSessionId, type RunId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { notedState, readCheckpoint } from "../../runtime/checkpoint/session-checkpoint.ts";
import { contractOf, readBodiesOf, readWholeJournal } from "../../runtime/run/read-run.ts";
import { COMPACTION_SOURCE } from "../../runtime/run/run-rules.ts";
import { type EmbeddedParts, partsOf } from "./embedded-parts.ts";
import { followRun } from "./follow-run.ts";
import type * as Api from "./surety-api.ts";

const DEFAULT_AGENT = "main";
const MAX_OPEN = 500;
const CLOSED = "run.open: Surety was closed before the run ended. The run is saved; recover() resumes it.";
const IDLE: LoopSurroundings = {
  ...{ goals: [], openLoops: [], closedLoops: [], isCompacting: false },
  maxInferences: DEFAULT_TERMS.maxInferences,
};

export class AgentLoop implements Api.AgentLoop {
  readonly #parts: EmbeddedParts;
  #state = toState([], IDLE);

  constructor(surety: Api.Surety) {
    this.#parts = partsOf(surety);
  }

  getState(): Api.LoopState {
    return structuredClone(this.#state);
  }

  async *run(session: Api.Session, message: Api.Message): AsyncGenerator<Api.AgentChunk> {
    const { assistant } = this.#parts;
    if (message.role !== "user") {
      yield* this.#refused(
        `invalid.request: a run answers a message of the user, and this is one of role ${message.role}`,
      );
      return;
    }
    const submitted = await assistant.submit(this.#requestFor(session, message));
    if (!submitted.ok) {
      yield* this.#refused(`${submitted.code}: ${submitted.message}`);
      return;
    }
    yield* this.#follow(submitted.runId, submitted.sessionId, message.content);
  }

  #requestFor({ id, agentId = DEFAULT_AGENT, channel, config }: Api.Session, { content }: Api.Message): RunRequest {
    return {
      agentId,
      message: content,
      sessionId: asSessionId(id),
      model: config.model ?? null,
      thinkingMode: null,
      ...(config.thinkingLevel === undefined ? {} : { thinkingLevel: config.thinkingLevel }),
      contract: {},
      approvedTools: [],
      channelClass: this.#parts.channelClass(channel),
      source: "embedding",
      principal: "operator",
      idempotencyKey: null,
    };
  }

  *#refused(error: string): Generator<Api.AgentChunk> {
    this.#state = { ...toState([], IDLE), phase: "done" };
    yield { type: "error", error };
    yield { type: "done" };
  }

  async *#follow(runId: RunId, sessionId: SessionId, goal: string): AsyncGenerator<Api.AgentChunk> {
    const { store } = this.#parts;
    const run = await store.findRun(runId);
    if (run === null) return;
    const { toolPolicy, tokenGate, maxInferences } = contractOf(run);
    const isGated = toolPolicy === "required" && tokenGate;
    const loops = new Set<string>();
    const around = async (isCompacting: boolean): Promise<LoopSurroundings> => {
      const { goals, openLoops } = notedState(await readCheckpoint(store, sessionId));
      for (const loop of openLoops) loops.add(loop);
      const closedLoops = [...loops].filter((loop) => !openLoops.includes(loop));
      return { goals: goals.length === 0 ? [goal] : goals, openLoops, closedLoops, maxInferences, isCompacting };
    };
    const waiting = await store.openRunsOf(sessionId, MAX_OPEN);
    this.#state = toState([], await around(waiting.some(({ source }) => source === COMPACTION_SOURCE)));
    let question: string | null = null;
    let seen = 0;
    let shown = 0;
    const updates = followRun(this.#parts, runId, (asked) => {
      question = asked;
    });
    for await (const update of updates) {
      if (update.kind !== "event") continue;
      const { entries } = await readWholeJournal(store, runId);
      const bodies = await readBodiesOf(store, run, entries);
      const surroundings = await around(false);
      for (; seen < entries.length; seen += 1) {
        const past = entries.slice(0, seen + 1);
        this.#state = toState(past, surroundings);
        const chunks = agentChunks(past, (ref) => bodies.get(ref)?.text ?? null, isGated) as readonly Api.AgentChunk[];
        const news = chunks.slice(shown);
        shown = chunks.length;
        yield* news;
      }
    }
    if (this.#state.phase === "done") return;
    yield { type: "error", error: question === null ? CLOSED : `run.open: a person must answer: ${question}` };
    yield { type: "done" };
  }
}

function toState(entries: readonly Entry[], around: LoopSurroundings): Api.LoopState {
  const { pending, completed, ...state } = loopState(entries, around);
  return { ...state, pending: [...pending], completed: [...completed] };
}
