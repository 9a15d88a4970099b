/**
 * Drafts a run from a request: agent, model, contract and prompt.
 *
 * D1. An unknown agent, session or model is refused by name.
 * D2. The message is redacted before it becomes a body: loaded secrets never reach the store (P-5.4).
 * D3. Images for a model without vision are refused before anything is written or sent.
 */
import type { ExecutionContract, Routing } from "../../kernel/contract/contract.ts";
import { DEFAULT_TERMS } from "../../kernel/contract/default-terms.ts";
import { sealContract } from "../../kernel/contract/seal-contract.ts";
import type { PolicyState } from "../../kernel/governance/policy-state.ts";
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { asRunId, asSessionId, type RunId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { joinLabels, type Labels, UNTRUSTED_LABELS, USER_LABELS } from "../../kernel/vocabulary/labels.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import { grantedAt } from "../../runtime/capabilities/authority.ts";
import { estimateTokens } from "../../runtime/model/estimate-tokens.ts";
import { type TaskContext, taskOf } from "../../runtime/model/model-router.ts";
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { Inbox } from "../../runtime/ports/inbox.ts";
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import { newId, type RandomBytes } from "../../runtime/ports/randomness.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { Toolbox } from "../../runtime/ports/toolbox.ts";
import type { BegunSession, RunDraft } from "../../runtime/run/accept-run.ts";
import type { Acceptance } from "../../runtime/run/acceptance.ts";
import { BodyCache } from "../../runtime/run/body-cache.ts";
import { SESSION_FORGED } from "../../runtime/sessions/session-rules.ts";
import { buildContext, offeredTools, seenBy } from "../context/build-context.ts";
import type { ContextLimits, LimitsOf } from "../context/context-limits.ts";
import type { PromptTexts } from "../context/prompt-texts.ts";
import { keepSupplied, suppliedTexts } from "../context/supplied-context.ts";
import { sessionKey } from "../sessions/session-key.ts";
import type { SubAgents } from "../subagents/sub-agents.ts";
import { messageProblem, redactSupplied, secretProblem, suppliedProblem } from "./check-request.ts";
import { contractTerms, priceProblem } from "./contract-terms.ts";
import { fileNote, type ReadImage, readMedia } from "./read-media.ts";
import { type FileItem, idempotencyOf, type RunRequest, type SuppliedContext } from "./run-request.ts";
import type { Ceilings } from "./term-bounds.ts";

/** Estimate per image until the model is chosen. */
const IMAGE_TOKENS = 1_600;
const SEES_NOTHING = "sees no images: take a model with supportsVision: true, or leave the images out";
const DEFAULT_AGENT = "main";
const AGENT_ALIAS = "agent_default";

export interface DraftingSettings {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: RandomBytes;
  readonly toolbox: Toolbox;
  readonly redactor: Redactor;
  readonly texts: PromptTexts;
  readonly policy: () => ToolPolicy;
  readonly ceilings: Ceilings;
  readonly thinkingMode: "never" | "on_error" | "always";
  /** Null: not configured for this agent. */
  readonly agentThinking: (agentId: string) => ThinkingLevel | null;
  readonly limitsOf: LimitsOf;
  readonly inbox: Inbox;
  readonly isAgent: (agentId: string) => boolean;
  /** What governance would have a contract of this model drafted under; null: governance is off. */
  readonly policyState: (model: string) => Promise<PolicyState | null>;
  readonly subAgents: SubAgents;
  /** From the request, the agent, the router or the configuration; a message when it cannot be used. */
  readonly chooseModel: (asked: string | null, agentId: string, task: TaskContext) => ChosenModel;
}

export type ChosenModel =
  /** `routing`: the router's reason, if it chose. */
  | { readonly ok: true; readonly model: ConfiguredModel; readonly routing?: Routing }
  | { readonly ok: false; readonly message: string };

/** `placed`: the files of the message, in the workspace; they are taken back if the run is not accepted. */
export type Drafted = { readonly ok: true; readonly draft: RunDraft; readonly placed: readonly string[] } | Refusal;

export async function draftRun(settings: DraftingSettings, request: RunRequest): Promise<Drafted> {
  const agentId = request.agentId === AGENT_ALIAS ? DEFAULT_AGENT : request.agentId;
  const problem =
    messageProblem(request.message) ?? suppliedProblem(request) ?? secretProblem(settings.redactor, request);
  if (problem !== null) return problem;
  const media = readMedia(request.media ?? [], settings.redactor);
  if (!media.ok) return media;
  if (agentId !== DEFAULT_AGENT && !settings.isAgent(agentId)) return refuse("not_found", "there is no such agent");
  const session = request.sessionId === null ? null : await settings.store.findSession(request.sessionId);
  if (request.sessionId !== null && session === null) {
    return refuse("not_found", "there is no such session; session_id is in the record of a run");
  }
  if (session?.isForged) return refuse("conflict", SESSION_FORGED);
  // The request's, else the session's, else the agent's (design §8).
  const { model: sessionModel = null, thinkingLevel: sessionThinking } = session?.settings ?? {};
  const wantedThinking = request.thinkingLevel ?? sessionThinking ?? settings.agentThinking(agentId);
  const chosen = settings.chooseModel(
    request.model ?? sessionModel,
    agentId,
    taskFor(request, wantedThinking, settings.limitsOf(agentId)),
  );
  if (!chosen.ok) return refuse("invalid.request", chosen.message);
  const unseen = media.images.length > 0 && chosen.model.vision === undefined;
  if (unseen) return refuse("invalid.request", `${chosen.model.ref} ${SEES_NOTHING}`);
  const thinkingLevel = thinkingLevelFor(chosen.model, wantedThinking);
  const stored = request.sessionId === null ? [] : await settings.store.capabilitiesOf(request.sessionId);
  const granted = grantedAt(stored, settings.clock.nowMs()).capabilities;
  const { channelClass = "cli_local" } = request;
  const summarizer = namedSummarizer(settings, agentId, request.contract);
  if (!summarizer.ok) return refuse("invalid.request", summarizer.message);
  await chosen.model.tokens.prepare?.();
  const drafted = contractTerms({
    contractId: newId("contract", settings.random),
    model: chosen.model,
    routing: chosen.routing,
    toolbox: settings.toolbox,
    policy: settings.policy(),
    channelClass,
    overrides: summarizer.overrides,
    thinkingLevel,
    approvedTools: request.approvedTools,
    capabilities: granted,
    ceilings: settings.ceilings,
    maxToolTokens: settings.limitsOf(agentId).toolTokens,
    policyState: await settings.policyState(chosen.model.ref),
  });
  if (!drafted.ok) return refuse("invalid.request", drafted.problem);
  const runId = asRunId(newId("run", settings.random));
  const begins = request.sessionId === null ? (request.begins ?? ownSession(settings, request, agentId, runId)) : null;
  const sessionId = begins === null ? (request.sessionId as SessionId) : begins.session.sessionId;
  const said = channelClass === "cli_local" ? USER_LABELS : UNTRUSTED_LABELS;
  const { files = [] } = request;
  const placed = await settings.inbox.place(files, said);
  const notes = files.map((file, index) => fileNote(placed[index] ?? file.name, file));
  const draft = assemble(settings, {
    begins,
    files,
    run: {
      runId,
      agentId,
      sessionId,
      source: request.source,
      lane: `session:${sessionId}`,
      parentRunId: null,
      // What a model thinks is not for strangers (design §8).
      thinkingMode: channelClass === "cli_local" ? (request.thinkingMode ?? settings.thinkingMode) : "never",
    },
    model: chosen.model,
    contract: sealContract(drafted.terms),
    toolsLeftOut: drafted.toolsLeftOut,
    message: settings.redactor.redactText([request.message, ...notes].join("\n")).text,
    supplied: request.supplied === undefined ? null : redactSupplied(settings.redactor, request.supplied),
    images: media.images,
    principal: request.principal,
    thinkingLevel,
    isUnattended: request.isUnattended,
    reply: request.reply,
    said,
    ...(request.labels === undefined ? {} : { labels: request.labels }),
  });
  return {
    ok: true,
    placed,
    draft: { ...draft, idempotency: idempotencyOf(request), inbound: request.inbound ?? null },
  };
}

/** The contract names the model itself: `auto` is the router's choice for a summary. */
function namedSummarizer(
  { chooseModel, ceilings }: DraftingSettings,
  agentId: string,
  overrides: RunRequest["contract"],
):
  | { readonly ok: true; readonly overrides: RunRequest["contract"] }
  | { readonly ok: false; readonly message: string } {
  const { toolOutputBudget } = overrides;
  const { summarizerModel: asked = null, maxBytesPerCall } = toolOutputBudget ?? {};
  if (asked === null) return { ok: true, overrides };
  const bytes = maxBytesPerCall ?? DEFAULT_TERMS.toolOutputBudget.maxBytesPerCall;
  const chosen = chooseModel(asked, agentId, taskOf("summarization", bytes));
  if (!chosen.ok) return { ok: false, message: `summarizer_model: ${chosen.message}` };
  const { model } = chosen;
  const problem = priceProblem(model, overrides.maxSpendMicrousd ?? ceilings.maxSpendMicrousd);
  if (problem !== null) return { ok: false, message: `summarizer_model: ${problem}` };
  return {
    ok: true,
    overrides: { ...overrides, toolOutputBudget: { ...toolOutputBudget, summarizerModel: model.ref } },
  };
}

/** A run that continues nothing has a session of its own; later runs may continue it by its id. */
function ownSession(
  { random }: DraftingSettings,
  { source, principal }: RunRequest,
  agentId: string,
  runId: RunId,
): BegunSession {
  const key = sessionKey({ agentId, channel: source, kind: "run", peer: runId });
  const sessionId = asSessionId(newId("session", random));
  return { session: { sessionId, agentId, key, channel: source, senderId: principal }, isRouted: false };
}

interface DraftParts {
  /** Null: the run continues a session. */
  readonly begins: BegunSession | null;
  readonly run: Omit<RunDraft["run"], "model">;
  readonly model: ConfiguredModel;
  readonly contract: ExecutionContract;
  readonly toolsLeftOut?: readonly string[];
  /** Of the sender of the message. */
  readonly said: Labels;
  /** Of the delegating context, or of what the message quotes; the message carries them. */
  readonly labels?: Labels;
  readonly message: string;
  readonly supplied?: SuppliedContext | null;
  readonly images: readonly ReadImage[];
  readonly files?: readonly FileItem[];
  readonly principal: string;
  readonly thinkingLevel: ThinkingLevel | null;
  readonly isUnattended: Acceptance["isUnattended"] | undefined;
  readonly reply: Acceptance["reply"] | undefined;
}

export function assemble({ random, toolbox, texts, limitsOf }: DraftingSettings, parts: DraftParts): RunDraft {
  const { run, begins, model, contract, labels, message, principal, thinkingLevel, isUnattended, reply } = parts;
  const { agentId, sessionId } = run;
  const bodyCache = new BodyCache(random, new Map());
  const messageRef = bodyCache.keep(message);
  const images = parts.images.map(({ mimeType, bytes, width, height, data }) => {
    return { type: "image", mimeType, bytes, width, height, ref: bodyCache.keep(data) } as const;
  });
  const supplied = parts.supplied ? keepSupplied(parts.supplied, (text) => bodyCache.keep(text)) : null;
  const uploads = [...parts.images.map(({ uploadRef, data }) => ({ ref: uploadRef, data })), ...(parts.files ?? [])];
  const takes = uploads.flatMap(({ ref, data }) => (ref === null ? [] : [{ ref, bodyRef: bodyCache.keep(data) }]));
  // Of a session that goes on, the rest follows when the run begins (session-context.ts).
  const { opening, prompt, manifest } = buildContext({
    system: texts.layers(agentId, contract.channelClass, begins === null || begins.isRouted),
    context: null,
    supplied: suppliedTexts(supplied, (ref) => bodyCache.read(ref)),
    turns: [],
    summarizedThrough: 0,
    message: { ref: messageRef, text: message, images: seenBy(model.vision, images) },
    ...{ offered: offeredTools(toolbox, contract), toolsLeftOut: parts.toolsLeftOut ?? [] },
    limits: limitsOf(agentId),
    countTokens: model.tokens.count,
    keep: (text) => bodyCache.keep(text),
  });
  const { routing } = contract;
  return {
    run: { ...run, model: model.ref },
    contract,
    acceptance: {
      event: {
        type: "run.accepted",
        messageRef,
        ...(images.length === 0 ? {} : { media: images }),
        agentId,
        sessionId,
        principal,
        labels: labels === undefined ? parts.said : joinLabels(parts.said, labels),
        prompt,
        retrieved: [],
        tools: { digest: toolbox.digest, names: toolbox.tools.map(({ name }) => name) },
        profile: { ...model.profile, grammarProfiles: [...model.profile.grammarProfiles] },
        ...(routing === undefined ? {} : { routing }),
        // Of an inference whose usage the provider does not report; null if unknown.
        price: model.price ?? (model.isFree ? { inputPer1k: 0, outputPer1k: 0 } : null),
      },
      ...(thinkingLevel === null ? {} : { thinkingLevel }),
      ...(isUnattended ? { isUnattended } : {}),
      ...(begins === null ? { continuesSession: true } : {}),
      ...(supplied === null ? {} : { supplied }),
      ...(reply === undefined ? {} : { reply }),
      opening,
      manifest,
    },
    bodies: bodyCache.takeUnwritten(),
    takes,
    begins,
    idempotency: null,
    inbound: null,
  };
}

/** thinking=high routes as reasoning; a run without tools as chat. */
function taskFor(
  { message, media = [], contract, sessionId, supplied }: RunRequest,
  thinkingLevel: ThinkingLevel | null,
  { recentTokens, summaryTokens }: ContextLimits,
): TaskContext {
  const said = [message, supplied?.instructions ?? "", ...(supplied?.history ?? []).map(({ content }) => content)];
  const inputTokens =
    (sessionId === null ? 0 : recentTokens + summaryTokens) +
    said.reduce((sum, text) => sum + estimateTokens(text), 0) +
    media.length * IMAGE_TOKENS;
  const needsTools = contract.toolPolicy !== "forbidden";
  const usual = needsTools ? "orchestration" : "chat";
  const task = { ...taskOf(thinkingLevel === "high" ? "reasoning" : usual, inputTokens), needsTools };
  return media.length === 0 ? task : { ...task, needsVision: true };
}

/** The model's own unless one was asked for. Null for a model without levels. */
export function thinkingLevelFor({ thinking }: ConfiguredModel, asked: ThinkingLevel | null): ThinkingLevel | null {
  return thinking === undefined ? null : (asked ?? thinking.level);
}
