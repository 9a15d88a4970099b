/** The seed's MemoryManager (T-3c) over the prompts and the compaction of an opened home. */
import { contextText } from "../../assistant/context/context-text.ts";
import { contextWindow, lastTurns } from "../../assistant/context/context-window.ts";
import { grantedTools, reservesFor } from "../../assistant/runs/contract-terms.ts";
import { fitTools } from "../../assistant/runs/fit-tools.ts";
import { DEFAULT_TERMS } from "../../kernel/contract/default-terms.ts";
import { asSessionId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { readCheckpoint, summaryIn } from "../../runtime/checkpoint/session-checkpoint.ts";
import { ESTIMATED_TOKENS } from "../../runtime/model/estimate-tokens.ts";
import { truncateToTokens } from "../../runtime/model/truncate-to-tokens.ts";
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import { COMPACTION_SOURCE } from "../../runtime/run/run-rules.ts";
import { type EmbeddedParts, partsOf } from "./embedded-parts.ts";
import { followRun } from "./follow-run.ts";
import type * as Api from "./surety-api.ts";

const DEFAULT_AGENT = "main";
const MAX_OPEN = 500;
const { truncationMarker } = DEFAULT_TERMS.toolOutputBudget;

export class MemoryError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "MemoryError";
    this.code = code;
  }
}

export class MemoryManager implements Api.MemoryManager {
  readonly #parts: EmbeddedParts;

  constructor(surety: Api.Surety) {
    this.#parts = partsOf(surety);
  }

  buildContext(session: Api.Session): Api.ContextWindow {
    const { texts, limitsOf, policy, toolbox, channelClass: classOf } = this.#parts;
    const { agentId = DEFAULT_AGENT, channel, checkpoint, messages } = session;
    const limits = limitsOf(agentId);
    const channelClass = classOf(channel);
    const granted = grantedTools({ toolbox, policy: policy(), channelClass });
    const tools = toolbox.tools.filter(({ name }) => granted.includes(name));
    const { offered } = fitTools(tools, policy(), limits.toolTokens);
    const noted = checkpoint === undefined ? null : notedText(checkpoint);
    const prompts = texts.layers(agentId, channelClass, true).map(({ text }) => text);
    const model = this.#model(session.metadata.model);
    const contextTokens = Math.min(model?.contextWindow ?? Number.POSITIVE_INFINITY, 1_000_000);
    const { recentMessages, ...window } = contextWindow({
      systemPrompt: [...prompts, ...(noted === null ? [] : [noted])].join("\n\n"),
      memorySummary: checkpoint?.summary?.content ?? "",
      toolDescriptions: offered.length === 0 ? "" : JSON.stringify(offered),
      messages: checkpoint === undefined ? messages : lastTurns(messages, turnsIn(checkpoint)),
      limits,
      countTokens: countWith(model),
      maxTokens: contextTokens - reservesFor(contextTokens).reservedSynthesis,
    });
    return { ...window, recentMessages: [...recentMessages] };
  }

  async compress(session: Api.Session): Promise<Api.MemorySummary> {
    const { operations } = this.#parts;
    const sessionId = asSessionId(session.id);
    const begun = await operations.call("sessions.compact", { id: sessionId });
    if (!begun.ok) throw new MemoryError(begun.code, begun.message);
    const runId = "turns" in begun.value ? begun.value.id : await this.#goingOn(sessionId);
    if (runId !== null) {
      for await (const _ of followRun(this.#parts, runId)) {
        // Its end is what counts.
      }
    }
    const { store } = this.#parts;
    const summary = summaryIn(await readCheckpoint(store, sessionId));
    if (runId !== null && summary?.writtenBy !== runId) {
      const run = await store.findRun(runId);
      const outcome = run?.outcome ?? "not ended";
      throw new MemoryError(
        "compaction.failed",
        `The summary was not made (${runId}: ${outcome}); nothing has changed.`,
      );
    }
    if (summary === null) {
      return { content: "", messagesCompressed: 0, tokensUsed: 0, createdAt: new Date().toISOString() };
    }
    const { text: content, turns, tokens: tokensUsed, createdAt } = summary;
    return { content, messagesCompressed: 2 * turns, tokensUsed, createdAt };
  }

  getStats(session: Api.Session): Api.MemoryStats {
    const { memorySummary, recentMessages, totalTokens } = this.buildContext(session);
    const count = countWith(this.#model(session.metadata.model));
    const sum = (messages: readonly Api.Message[]): number =>
      messages.reduce((tokens, { content }) => tokens + count(content), 0);
    const memorySummaryTokens = memorySummary === "" ? 0 : count(memorySummary);
    const whole = sum(session.messages);
    return {
      contextWindowTokens: totalTokens,
      memorySummaryTokens,
      recentMessagesCount: recentMessages.length,
      totalSessionMessages: Math.max(session.metadata.messageCount, session.messages.length),
      compressionRatio: whole === 0 ? 1 : (memorySummaryTokens + sum(recentMessages)) / whole,
    };
  }

  truncateToolOutput(output: string, maxTokens: number): string {
    if (!(maxTokens >= 0)) throw new RangeError(`maxTokens must be a number from 0 on, and is ${maxTokens}`);
    return truncateToTokens(output, maxTokens, truncationMarker, countWith(this.#model(null)));
  }

  async #goingOn(sessionId: SessionId) {
    const open = await this.#parts.store.openRunsOf(sessionId, MAX_OPEN);
    return open.find(({ source }) => source === COMPACTION_SOURCE)?.runId ?? null;
  }

  #model(ref: string | null): ConfiguredModel | null {
    const choice = this.#parts.findModel(ref);
    return choice.ok ? choice.model : null;
  }
}

function countWith(model: ConfiguredModel | null): (text: string) => number {
  return (model?.tokens ?? ESTIMATED_TOKENS).count;
}

function turnsIn({ recent_messages: recent }: Api.Checkpoint): number {
  return recent.filter(({ role }) => role === "user").length;
}

function notedText({ state }: Api.Checkpoint): string | null {
  const { goals, open_loops: openLoops, decisions, constraints, episode_summary: episodeSummary } = state;
  return contextText({ goals, openLoops, decisions, constraints, episodeSummary }, null);
}
