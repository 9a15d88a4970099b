/**
 * The seed's SubAgentManager (T-3b). Tasks are the calls of one run, which its journal holds and which resumes after a crash: what
 * a program delegates is planned, decided, paid for and recorded like what a model delegates.
 */
import { DIRECT_CALL_MODEL, directCallMessage } from "../../adapters/models/direct-call.ts";
import type { RunRequest } from "../../assistant/runs/run-request.ts";
import { isOutputSchema } from "../../assistant/subagents/sub-agents.ts";
import { refsOf } from "../../kernel/journal/body.ts";
import { type Entry, eventsOf } from "../../kernel/journal/entry.ts";
import { contentOf, type Lookup } from "../../kernel/journal/views/body-content.ts";
import { shownError } from "../../kernel/journal/views/call-outcome.ts";
import { runTimeline } from "../../kernel/journal/views/run-timeline.ts";
import { adviceOn } from "../../kernel/vocabulary/failures.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { readBodies, readWholeJournal } from "../../runtime/run/read-run.ts";
import { type EmbeddedParts, partsOf } from "./embedded-parts.ts";
import { followRun } from "./follow-run.ts";
import type * as Api from "./sub-agents-api.ts";
import type { Surety } from "./surety-api.ts";

const TOOL = "agent.delegate";
/** Of one task; a research task needs the most. */
const INFERENCES = 6;
const MICROUSD = 1_000_000;
const CLOSED = "Surety was closed before the sub-agent had answered. The run is saved; recover() resumes it.";

export class SubAgentManager implements Api.SubAgentManager {
  readonly #parts: EmbeddedParts;

  constructor(surety: Surety) {
    this.#parts = partsOf(surety);
  }

  getAgents(): Api.SubAgentDef[] {
    const { subAgents, defaultModelOf } = this.#parts;
    return subAgents.list().map(({ name, agentId, prompt, outputSchema }) => ({
      ...{ name, systemPrompt: prompt, defaultModel: defaultModelOf(agentId) },
      ...(outputSchema === null ? {} : { outputSchema }),
    }));
  }

  async spawn(task: Api.SubAgentTask): Promise<Api.SubAgentResult> {
    const [result] = await this.spawnParallel([task]);
    return result ?? failed(task, "internal.error", CLOSED);
  }

  async spawnParallel(tasks: Api.SubAgentTask[]): Promise<Api.SubAgentResult[]> {
    if (tasks.length === 0) return [];
    const unusable = tasks.findIndex(
      ({ outputSchema }) => outputSchema !== undefined && !isOutputSchema({ ...outputSchema }),
    );
    if (unusable >= 0) {
      const message = `The outputSchema of task ${unusable} must be a JSON Schema with type: "object"; nothing was started.`;
      return tasks.map((task) => failed(task, "invalid.request", message));
    }
    const submitted = await this.#parts.assistant.submit(this.#requestFor(tasks));
    if (!submitted.ok) return tasks.map((task) => failed(task, submitted.code, submitted.message));
    const { runId, sessionId } = submitted;
    for await (const _ of followRun(this.#parts, runId)) {
      // The journal has the results.
    }
    return await this.#read(tasks, runId, sessionId);
  }

  #requestFor(tasks: readonly Api.SubAgentTask[]): RunRequest {
    const { subAgents } = this.#parts;
    const lines = tasks.map(({ agent, description, context, outputSchema }) => {
      const name = outputSchema === undefined ? agent : subAgents.withOutput(agent, { ...outputSchema });
      return directCallMessage(TOOL, { agent: name, description, context });
    });
    return {
      agentId: "main",
      message: lines.join("\n"),
      sessionId: null,
      model: DIRECT_CALL_MODEL.ref,
      thinkingMode: null,
      contract: { toolPolicy: "required", maxInferences: 2 + tasks.length * INFERENCES },
      approvedTools: [],
      source: "embedding",
      principal: "operator",
      idempotencyKey: null,
    };
  }

  async #read(tasks: readonly Api.SubAgentTask[], runId: RunId, sessionId: SessionId): Promise<Api.SubAgentResult[]> {
    const { store } = this.#parts;
    const { entries } = await readWholeJournal(store, runId);
    const bodies = await readBodies(store, sessionId, [...new Set(entries.flatMap(refsOf))], runId);
    const lookup: Lookup = (ref) => bodies.get(ref)?.text ?? null;
    return tasks.map(
      (task, index) => resultOf(task, `call_${index + 1}`, entries, lookup) ?? unanswered(task, entries),
    );
  }
}

/** Null while the call has not ended. */
function resultOf(
  task: Api.SubAgentTask,
  callId: string,
  entries: readonly Entry[],
  lookup: Lookup,
): Api.SubAgentResult | null {
  const ended = runTimeline(entries).find((item) => item.kind === "call-ended" && item.call.callId === callId);
  if (ended?.kind !== "call-ended") return null;
  const { outcome } = ended;
  const child = entries.flatMap(eventsOf).find((event) => event.type === "child.finished" && event.callId === callId);
  const spent = child?.type === "child.finished" ? child.spent : { tokens: 0, spendMicrousd: 0 };
  const error = shownError(outcome, lookup);
  const told = outcome.outputRef === null ? null : contentOf(outcome.outputRef, lookup);
  return {
    agent: task.agent,
    result: isFields(told) ? told : error === null ? { text: told } : {},
    tokensUsed: spent.tokens,
    cost: spent.spendMicrousd / MICROUSD,
    duration: outcome.durationMs,
    ...(outcome.child === null ? {} : { runId: outcome.child.runId }),
    ...(error === null ? {} : { error: { code: error.code, message: error.message, ...error.details } }),
  };
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unanswered(task: Api.SubAgentTask, entries: readonly Entry[]): Api.SubAgentResult {
  const last = entries.at(-1);
  if (last?.kind !== "TERMINATE") return failed(task, "run.open", CLOSED);
  const { outcome, reason } = last.decided;
  return failed(
    task,
    reason ?? outcome,
    (reason && adviceOn(reason)) ?? "The run ended before its sub-agents answered.",
  );
}

function failed({ agent }: Api.SubAgentTask, code: string, message: string): Api.SubAgentResult {
  return { agent, result: {}, tokensUsed: 0, cost: 0, duration: 0, error: { code, message } };
}
