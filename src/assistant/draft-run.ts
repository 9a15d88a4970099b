/**
 * From a request to a run that can be accepted: who acts, with which model, under which contract, with which words.
 *
 * D1. Nothing is guessed: an unknown agent, session or model is refused by name.
 * D2. The message is redacted before it becomes a body; secrets that were loaded never reach the store (P-5.4).
 * D3. Images are for a model that sees them: any other is refused here, before anything is asked or written.
 */
import { childTerms, type RemainingBudget } from "../kernel/contract/child-contract.ts";
import type { ExecutionContract, Routing } from "../kernel/contract/contract.ts";
import { sealContract } from "../kernel/contract/seal-contract.ts";
import type { CarvedBudget } from "../kernel/journal/event.ts";
import type { ToolPolicy } from "../kernel/policy/tool-policy.ts";
import type { Redactor } from "../kernel/redaction/redact.ts";
import { asRunId, asSessionId, type SessionId } from "../kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS, joinLabels, type Labels, USER_LABELS } from "../kernel/vocabulary/labels.ts";
import type { ModelPrice } from "../kernel/vocabulary/model-price.ts";
import type { JsonValue } from "../kernel/vocabulary/parse-json.ts";
import type { ThinkingLevel } from "../kernel/vocabulary/thinking-level.ts";
import { grantedAt } from "../runtime/capabilities/authority.ts";
import { estimateTokens } from "../runtime/model/estimate-tokens.ts";
import { type TaskContext, taskOf } from "../runtime/model/model-router.ts";
import type { Refusal } from "../runtime/operations/operation.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { ConfiguredModel } from "../runtime/ports/model-backend.ts";
import { newId, type RandomBytes } from "../runtime/ports/randomness.ts";
import type { Store, StoredRun } from "../runtime/ports/store.ts";
import type { Toolbox } from "../runtime/ports/toolbox.ts";
import { acceptanceWrites, newRun, type RunDraft } from "../runtime/run/accept-run.ts";
import { type Acceptance, readAcceptance } from "../runtime/run/acceptance.ts";
import { BodyCache } from "../runtime/run/body-cache.ts";
import type { Delegate } from "../runtime/run/children.ts";
import { readBodies } from "../runtime/run/read-run.ts";
import { contractTerms, priceProblem, underModel } from "./contract-terms.ts";
import { defaultOutputTokens } from "./default-output-limit.ts";
import { idempotencyOf } from "./idempotency.ts";
import type { PromptTexts, Said } from "./prompt-stack.ts";
import { imageNote, type ReadImage, type ReadMedia, readMedia } from "./read-media.ts";
import type { RunRequest } from "./runs/run-request.ts";
import type { Ceilings } from "./term-bounds.ts";
import { thinkingLevelFor } from "./thinking-level-for.ts";

/** As much as one HTTP request may carry. */
const MAX_MESSAGE_BYTES = 1_048_576;
/** Earlier turns of a session that a run is reminded of, and how many characters of them. */
const REMEMBERED_RUNS = 20;
const REMEMBERED_CHARS = 12_000;
/** What an image weighs while its model is being chosen. */
const IMAGE_TOKENS = 1_600;
const NO_MEDIA: ReadMedia = { ok: true, images: [] };
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
  /** How much an agent's models are to think; null where its owner left it open. */
  readonly agentThinking: (agentId: string) => ThinkingLevel | null;
  readonly isAgent: (agentId: string) => boolean;
  /** The model a request, an agent, the router or the configuration asks for; a sentence when it cannot be used. */
  readonly chooseModel: (asked: string | null, agentId: string, task: TaskContext) => ChosenModel;
}

export type ChosenModel =
  /** `routing` where the router chose it. */
  | { readonly ok: true; readonly model: ConfiguredModel; readonly routing?: Routing }
  | { readonly ok: false; readonly message: string };

export type Drafted = { readonly ok: true; readonly draft: RunDraft } | Refusal;

export async function draftRun(settings: DraftingSettings, request: RunRequest): Promise<Drafted> {
  const agentId = request.agentId === AGENT_ALIAS ? DEFAULT_AGENT : request.agentId;
  const problem = messageProblem(request.message) ?? secretProblem(settings.redactor, request);
  if (problem !== null) return problem;
  const media = request.media === undefined ? NO_MEDIA : readMedia(request.media, settings.redactor);
  if (!media.ok) return media;
  if (agentId !== DEFAULT_AGENT && !settings.isAgent(agentId))
    return refuse("not_found", `there is no agent ${agentId}`);
  if (request.sessionId !== null && !(await settings.store.hasSession(request.sessionId))) {
    return refuse("not_found", `there is no session ${request.sessionId}`);
  }
  const history = request.sessionId === null ? NOTHING_SAID : await remember(settings, request.sessionId);
  const wantedThinking = request.thinkingLevel ?? settings.agentThinking(agentId);
  const chosen = settings.chooseModel(request.model, agentId, taskFor(request, history, wantedThinking));
  if (!chosen.ok) return refuse("invalid.request", chosen.message);
  const unseen = media.images.length > 0 && chosen.model.vision === undefined;
  if (unseen) return refuse("invalid.request", `${chosen.model.ref} ${SEES_NOTHING}`);
  const thinkingLevel = thinkingLevelFor(chosen.model, [wantedThinking]);
  const drafted = contractTerms({
    contractId: newId("contract", settings.random),
    model: chosen.model,
    routing: chosen.routing,
    toolbox: settings.toolbox,
    policy: settings.policy(),
    channelClass: "cli_local",
    overrides: request.contract,
    thinkingLevel,
    approvedTools: request.approvedTools,
    capabilities: request.sessionId === null ? [] : await grantedTo(settings, request.sessionId),
    ceilings: settings.ceilings,
  });
  if (!drafted.ok) return refuse("invalid.request", drafted.problem);
  await chosen.model.tokens.prepare?.();
  const bodyCache = new BodyCache(settings.random, new Map());
  const message = settings.redactor.redactText(request.message).text;
  const messageRef = bodyCache.keep(message);
  const images = media.images.map((image) => keepImage(image, bodyCache));
  const contract = sealContract(drafted.terms);
  const offered = settings.toolbox.tools.filter(({ name }) => contract.allowedTools?.includes(name));
  const { opening, prompt } = settings.texts.stack(
    agentId,
    [...history.said, { role: "user", ref: messageRef, text: message, ...seenBy(chosen.model, images) }],
    offered,
    chosen.model.tokens.count,
  );
  const sessionId = request.sessionId ?? asSessionId(newId("session", settings.random));
  const acceptance: Acceptance = {
    event: {
      type: "run.accepted",
      messageRef,
      ...(images.length === 0 ? {} : { media: images }),
      agentId,
      sessionId,
      principal: request.principal,
      labels: joinLabels(USER_LABELS, history.labels),
      prompt,
      retrieved: [],
      tools: { digest: settings.toolbox.digest, names: settings.toolbox.tools.map(({ name }) => name) },
      profile: { ...chosen.model.profile, grammarProfiles: [...chosen.model.profile.grammarProfiles] },
      ...routingOf(contract),
      price: priceOf(chosen.model),
    },
    ...thought(thinkingLevel),
    ...unattended(request),
    opening,
  };
  return {
    ok: true,
    draft: {
      run: {
        runId: asRunId(newId("run", settings.random)),
        agentId,
        sessionId,
        source: request.source,
        lane: `session:${sessionId}`,
        parentRunId: null,
        model: chosen.model.ref,
        thinkingMode: request.thinkingMode ?? settings.thinkingMode,
      },
      contract,
      acceptance,
      bodies: bodyCache.takeUnwritten(),
      beginsSession: request.sessionId === null,
      idempotency: idempotencyOf(request),
      inbound: null,
    },
  };
}

/** A child's contract is its parent's, carved; it sees the task it is given and nothing of its parent's history (T-3b). */
export function delegateWith(settings: DraftingSettings, now: () => string): Delegate {
  return ({ parent, contract, left, carved: promised, childRunId, agent, message, labels }) => {
    if (agent !== DEFAULT_AGENT && !settings.isAgent(agent)) return { problem: `There is no agent ${agent}.` };
    const budget = promised ?? halfOf(left);
    const maxSpendMicrousd = contract.maxSpendMicrousd === null ? null : budget.spendMicrousd;
    const available = promised === null ? left : { ...left, ...promised, spendMicrousd: maxSpendMicrousd };
    const carved = childTerms(contract, available, {
      contractId: `contract_of_${childRunId}`,
      tools: contract.allowedTools ?? [],
      toolPolicy: "optional",
      maxInferences: budget.inferences,
      maxTokensConsumed: budget.tokens,
      maxSpendMicrousd,
      totalTimeoutMs: contract.totalTimeoutMs,
    });
    if (!carved.ok)
      return {
        problem: carved.problem === "too-deep" ? "Delegation is nested too deeply." : "No budget is left to delegate.",
      };
    const chosen = settings.chooseModel(null, agent, taskOf("subagent", estimateTokens(message)));
    if (!chosen.ok) return { problem: chosen.message };
    const unpriced = priceProblem(chosen.model, maxSpendMicrousd);
    if (unpriced !== null) return { problem: unpriced };
    const parentsAcceptance = readAcceptance(parent.accepted);
    const parentsLevel = parentsAcceptance.thinkingLevel ?? null;
    const level = thinkingLevelFor(chosen.model, [settings.agentThinking(agent), parentsLevel]);
    const room = hasDefaultOutputTokens(settings, parent, contract, parentsLevel)
      ? defaultOutputTokens(chosen.model, level, { ...settings.ceilings, maxSpendMicrousd })
      : contract.maxOutputTokens;
    const terms = underModel(carved.terms, chosen.model, chosen.routing, room);
    const child = sealContract({ ...terms, strictMode: false, tokenGate: false });
    const bodyCache = new BodyCache(settings.random, new Map());
    const messageRef = bodyCache.keep(message);
    const said: readonly Said[] = [{ role: "user", ref: messageRef, text: message }];
    const offered = settings.toolbox.tools.filter(({ name }) => child.allowedTools?.includes(name));
    // A tokenizer that nobody has used yet is not waited for: the estimate is good enough for a task of a few lines.
    const { opening, prompt } = settings.texts.stack(agent, said, offered, chosen.model.tokens.count);
    const sessionId = asSessionId(newId("session", settings.random));
    const draft: RunDraft = {
      run: {
        runId: childRunId,
        agentId: agent,
        sessionId,
        source: "run",
        lane: `run:${parent.runId}`,
        parentRunId: parent.runId,
        model: child.model,
        thinkingMode: parent.thinkingMode,
      },
      contract: child,
      acceptance: {
        event: {
          type: "run.accepted",
          messageRef,
          agentId: agent,
          sessionId,
          principal: `run:${parent.runId}`,
          labels: joinLabels(USER_LABELS, labels),
          prompt,
          retrieved: [],
          tools: { digest: settings.toolbox.digest, names: settings.toolbox.tools.map(({ name }) => name) },
          profile: { ...chosen.model.profile, grammarProfiles: [...chosen.model.profile.grammarProfiles] },
          ...routingOf(child),
          price: priceOf(chosen.model),
        },
        ...thought(level),
        ...unattended(parentsAcceptance),
        opening,
      },
      bodies: bodyCache.takeUnwritten(),
      beginsSession: true,
      idempotency: null,
      inbound: null,
    };
    const { maxInferences: inferences, maxTokensConsumed: tokens, contractHash } = child;
    const spendMicrousd = child.maxSpendMicrousd ?? 0;
    return {
      child: { runId: childRunId, contractHash, budget: { inferences, tokens, spendMicrousd } },
      writes: acceptanceWrites(draft, newRun(draft, now())),
    };
  };
}

/** Whether nobody said how long a run's answers may be. What somebody said holds for its children as well. */
function hasDefaultOutputTokens(
  { chooseModel, ceilings }: DraftingSettings,
  { agentId }: Pick<StoredRun, "agentId">,
  { model, maxOutputTokens, maxSpendMicrousd }: ExecutionContract,
  level: ThinkingLevel | null,
): boolean {
  const own = chooseModel(model, agentId, taskOf("orchestration", 0));
  return own.ok && maxOutputTokens === defaultOutputTokens(own.model, level, { ...ceilings, maxSpendMicrousd });
}

/** The main agent's work, or plain talk where it may not act. */
/** Who asks for much thinking has a hard question; how hard any other is, nobody knows beforehand. */
function taskFor(
  { message, media = [], contract }: RunRequest,
  { said }: History,
  thinkingLevel: ThinkingLevel | null,
): TaskContext {
  const words = said.reduce((sum, { text }) => sum + estimateTokens(text), estimateTokens(message));
  const inputTokens = words + media.length * IMAGE_TOKENS;
  const needsTools = contract.toolPolicy !== "forbidden";
  const usual = needsTools ? "orchestration" : "chat";
  const task = { ...taskOf(thinkingLevel === "high" ? "reasoning" : usual, inputTokens), needsTools };
  return media.length === 0 ? task : { ...task, needsVision: true };
}

type KeptImages = NonNullable<Acceptance["event"]["media"]>;

function keepImage({ mimeType, bytes, width, height, data }: ReadImage, bodyCache: BodyCache): KeptImages[number] {
  return { type: "image", mimeType, bytes, width, height, ref: bodyCache.keep(data) };
}

function seenBy({ vision }: ConfiguredModel, images: KeptImages): Pick<Said, "images"> {
  if (vision === undefined || images.length === 0) return {};
  const tokens = images.reduce((sum, image) => sum + vision.imageTokens(image), 0);
  return { images: { refs: images.map(({ ref }) => ref), tokens } };
}

function routingOf({ routing }: ExecutionContract): { readonly routing?: Routing } {
  return routing === undefined ? {} : { routing };
}

/** What an inference is charged by that nobody reports on; null where that is not known. */
function priceOf({ price, isFree }: ConfiguredModel): ModelPrice | null {
  return price ?? (isFree ? { inputPer1k: 0, outputPer1k: 0 } : null);
}

function unattended({ isUnattended }: Pick<Acceptance, "isUnattended">): Pick<Acceptance, "isUnattended"> {
  return isUnattended ? { isUnattended } : {};
}

function thought(thinkingLevel: ThinkingLevel | null): Pick<Acceptance, "thinkingLevel"> {
  return thinkingLevel === null ? {} : { thinkingLevel };
}

function halfOf({ inferences, tokens, spendMicrousd }: RemainingBudget): CarvedBudget {
  return {
    inferences: Math.ceil(inferences / 2),
    tokens: Math.ceil(tokens / 2),
    spendMicrousd: Math.ceil((spendMicrousd ?? 0) / 2),
  };
}

async function grantedTo({ store, clock }: DraftingSettings, sessionId: SessionId): Promise<readonly string[]> {
  return grantedAt(await store.capabilitiesOf(sessionId), clock.nowMs()).capabilities;
}

interface History {
  readonly said: readonly Said[];
  /** Of all that the answers among it were made of: remembering cleans nothing. */
  readonly labels: Labels;
}

const NOTHING_SAID: History = { said: [], labels: CLEAN_LABELS };

/** What was said before in this session, the latest that fits; of images, that there were some. */
export async function remember({ store }: Pick<DraftingSettings, "store">, sessionId: SessionId): Promise<History> {
  const runs = await store.sessionRuns(sessionId, REMEMBERED_RUNS);
  const turns = runs.flatMap(({ accepted, answerRef, ended }) => {
    const { messageRef, media } = (JSON.parse(accepted) as Acceptance).event;
    const noted = media === undefined ? {} : { note: media.map(imageNote).join("\n") };
    return answerRef === null || ended === null ? [] : [{ messageRef, answerRef, labels: ended.labels, noted }];
  });
  const refs = turns.flatMap(({ messageRef, answerRef }) => [messageRef, answerRef]);
  const bodies = await readBodies(store, sessionId, refs, null);
  const said: Said[] = [];
  let joined = CLEAN_LABELS;
  let chars = 0;
  for (const { messageRef, answerRef, labels, noted } of turns.toReversed()) {
    const asked = bodies.get(messageRef)?.text;
    const answered = bodies.get(answerRef)?.text;
    if (asked === undefined || answered === undefined) continue;
    chars += asked.length + answered.length;
    if (chars > REMEMBERED_CHARS) break;
    said.unshift(
      { role: "user", ref: messageRef, text: asked, ...noted },
      { role: "assistant", ref: answerRef, text: answered },
    );
    joined = joinLabels(joined, labels);
  }
  return { said, labels: joined };
}

/** A contract is kept, bundled and shown as it is: what must not be seen has no place in it. */
function secretProblem(redactor: Redactor, { agentId, model, contract, approvedTools }: RunRequest): Refusal | null {
  const kept = { agentId, model, contract, approvedTools } as unknown as JsonValue;
  const [path] = redactor.redactJson(kept).paths;
  return path === undefined ? null : refuse("invalid.request", `${path} holds a secret; leave it out`);
}

function messageProblem(message: string): Refusal | null {
  if (message.trim() === "") return refuse("invalid.request", "message is required");
  if (!message.isWellFormed()) return refuse("invalid.request", "message is not well-formed Unicode");
  const bytes = Buffer.byteLength(message);
  if (bytes <= MAX_MESSAGE_BYTES) return null;
  return refuse(
    "payload.too_large",
    `message has ${bytes} bytes; at most ${MAX_MESSAGE_BYTES} are taken: put it into a file`,
  );
}

function refuse(code: Refusal["code"], message: string): Refusal {
  return { ok: false, code, message };
}
