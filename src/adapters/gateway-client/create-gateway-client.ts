/**
 * The assistant behind a running gateway: the same interface, over HTTP, for commands beside a gateway.
 *
 * C1. What the gateway refuses is the refusal that the assistant gave. What keeps us from asking it is a
 *     `GatewayClientError`; a store that takes nothing is the `StoreError` it is there.
 * C2. Source and principal are the gateway's to say; ours are not sent.
 */
import type { Static, TSchema } from "typebox";
import type { Assistant, CapabilitiesShown, Refusal, RunRequest } from "../../assistant/assistant.ts";
import { RunRecordSchema } from "../../kernel/journal/views/run-record.ts";
import { asRunId, asSessionId } from "../../kernel/vocabulary/identifiers.ts";
import {
  ApprovalsSchema,
  approvalCard,
  CapabilitiesSchema,
  decode,
  MarksSchema,
  PendingCapabilitiesSchema,
  RunListSchema,
  StatusSchema,
  SubmissionSchema,
  sessionCapabilities,
  sessionCapability,
} from "./decode.ts";
import { type Answer, createLine, type Question } from "./exchange.ts";
import { unintelligible } from "./gateway-client-error.ts";
import { watchRun } from "./watch-run.ts";

const DEFAULTS = { timeoutMs: 30_000, silenceMs: 45_000, reconnectDelaysMs: [100, 300, 1_000, 3_000, 10_000] } as const;

export interface GatewayClientOptions {
  readonly url: string;
  readonly token: string;
  /** For an answer's head. */
  readonly timeoutMs?: number;
  /** Longer than this a watched run's stream is never silent. */
  readonly silenceMs?: number;
  /** One attempt each to come back to a broken stream. */
  readonly reconnectDelaysMs?: readonly number[];
}

export function createGatewayClient(options: GatewayClientOptions): Assistant {
  const { url, token, timeoutMs, silenceMs, reconnectDelaysMs } = { ...DEFAULTS, ...options };
  const line = createLine(url, token, timeoutMs);

  const read = <Schema extends TSchema>(schema: Schema, { text }: Answer): Static<Schema> => {
    const value = decode(schema, text);
    if (value === null) throw unintelligible(url, "answered something that we do not understand");
    return value;
  };
  /** For questions that the gateway has no reason to refuse. */
  const askSurely = async (question: Question): Promise<Answer> => {
    const answer = await line.ask(question);
    if (!answer.ok) throw unintelligible(url, `refused: ${answer.message}`);
    return answer;
  };
  const capabilitiesIn = (answer: Answer | Refusal): CapabilitiesShown | Refusal =>
    answer.ok ? { ok: true, capabilities: sessionCapabilities(read(CapabilitiesSchema, answer)) } : answer;

  return {
    async submit(request) {
      const { idempotencyKey } = request;
      const headers = idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey };
      const answer = await line.ask({ method: "POST", path: "/v1/runs", body: wireRequest(request), headers });
      if (!answer.ok) return answer;
      const { id, status, session_id } = read(SubmissionSchema, answer);
      const isRepeat = answer.headers.get("idempotent-replayed") === "true";
      return { ok: true, runId: asRunId(id), sessionId: asSessionId(session_id), status, isRepeat };
    },

    async run(runId) {
      const answer = await line.ask({ path: pathOf("/v1/runs", runId) });
      if (answer.ok) return read(RunRecordSchema, answer);
      if (answer.code === "not_found") return null;
      throw unintelligible(url, `refused: ${answer.message}`);
    },

    async runs({ status, limit, offset }) {
      const query = new URLSearchParams({ limit: String(limit), offset: String(offset), ...(status && { status }) });
      return read(RunListSchema, await askSurely({ path: `/v1/runs?${query}` }));
    },

    watch: (runId, afterSeq, signal) =>
      watchRun({ line, url, runId, afterSeq, signal, timeoutMs, silenceMs, reconnectDelaysMs }),

    async cancel(runId) {
      const answer = await line.ask({ method: "POST", path: `${pathOf("/v1/runs", runId)}/cancel` });
      return answer.ok ? { ok: true, status: read(StatusSchema, answer).status } : answer;
    },

    async bundle(runId) {
      const answer = await line.ask({ path: `${pathOf("/v1/runs", runId)}/bundle` });
      return answer.ok ? { ok: true, text: answer.text } : answer;
    },

    async approvals({ limit, offset }) {
      const answer = await askSurely({ path: `/api/approvals?limit=${limit}&offset=${offset}` });
      return read(ApprovalsSchema, answer).approvals.map(approvalCard);
    },

    async decide({ id, decision, planHash }) {
      const body = { decision, plan_hash: planHash };
      const answer = await line.ask({ method: "POST", path: pathOf("/api/approvals", id), body });
      return answer.ok ? { ok: true } : answer;
    },

    async capabilities(sessionId) {
      const query = new URLSearchParams({ session_id: sessionId });
      return capabilitiesIn(await line.ask({ path: `/api/capabilities?${query}` }));
    },

    async pendingCapabilities({ limit, offset }) {
      const answer = await askSurely({ path: `/api/capabilities?limit=${limit}&offset=${offset}` });
      return read(PendingCapabilitiesSchema, answer).pending.map(sessionCapability);
    },

    async decideCapability({ sessionId, capability, act, expiresInS, key }) {
      const body = { session_id: sessionId, [act]: capability, expires_in_s: expiresInS };
      const headers = key === null ? {} : { "idempotency-key": key };
      return capabilitiesIn(await line.ask({ method: "POST", path: "/api/capabilities", body, headers }));
    },

    async marks() {
      return read(MarksSchema, await askSurely({ path: "/api/marks" })).marks;
    },

    async removeMark(path) {
      const answer = await line.ask({ method: "POST", path: "/api/marks", body: { remove: path } });
      return answer.ok ? { ok: true } : answer;
    },
  };
}

const pathOf = (folder: string, id: string): string => `${folder}/${encodeURIComponent(id)}`;

function wireRequest(request: RunRequest) {
  const {
    agentId,
    message,
    media,
    sessionId,
    model,
    thinkingMode,
    thinkingLevel,
    contract,
    approvedTools,
    isUnattended,
  } = request;
  return {
    agent_id: agentId,
    message,
    media: media?.map(({ type, mimeType, data }) => ({ type, mime_type: mimeType, data })),
    session_id: sessionId,
    model,
    thinking_mode: thinkingMode,
    thinking_level: thinkingLevel,
    approved_tools: approvedTools,
    unattended: isUnattended,
    contract: {
      tool_policy: contract.toolPolicy,
      allowed_tools: contract.allowedTools,
      strict_mode: contract.strictMode,
      token_gate: contract.tokenGate,
      max_inferences: contract.maxInferences,
      max_tokens_consumed: contract.maxTokensConsumed,
      max_output_tokens: contract.maxOutputTokens,
      max_format_retries: contract.maxFormatRetries,
      max_spend_microusd: contract.maxSpendMicrousd,
      step_timeout_ms: contract.stepTimeoutMs,
      total_timeout_ms: contract.totalTimeoutMs,
      required_effects: contract.requiredEffects,
      cycle_forbid: contract.cycleForbid,
      context_budget: contract.contextBudget && wireContextBudget(contract.contextBudget),
      tool_output_budget: contract.toolOutputBudget && wireOutputBudget(contract.toolOutputBudget),
      grammar_profile: contract.grammarProfile,
      grammar: contract.grammar,
      logits_mask: contract.logitsMask,
      speculative_exec: contract.speculativeExec,
    } satisfies Wire<RunRequest["contract"]>,
  };
}

type Terms = Required<RunRequest["contract"]>;

function wireContextBudget(budget: Terms["contextBudget"]) {
  return {
    context_window: budget.contextWindow,
    reserved_system: budget.reservedSystem,
    reserved_synthesis: budget.reservedSynthesis,
    force_synthesis_at_ratio: budget.forceSynthesisAtRatio,
  } satisfies Wire<Terms["contextBudget"]>;
}

function wireOutputBudget(budget: Terms["toolOutputBudget"]) {
  return {
    max_bytes_per_call: budget.maxBytesPerCall,
    truncation_marker: budget.truncationMarker,
    summarizer_model: budget.summarizerModel,
  } satisfies Wire<Terms["toolOutputBudget"]>;
}

/** M-4.1's names: every term of the assistant's has its field here, or this does not compile. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;
type Wire<Values> = {
  readonly [Term in keyof Required<Values> as SnakeCase<Term & string>]: Term extends
    | "contextBudget"
    | "toolOutputBudget"
    ? object | undefined
    : Values[Term];
};
