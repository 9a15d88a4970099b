/**
 * The run that condenses a session's earlier turns (P-5.3): a run like any other, under a contract without tools, with a
 * system prompt of its own and the transcript as its message. It carries the labels of all that is condensed.
 */
import { sealContract } from "../../kernel/contract/seal-contract.ts";
import { asRunId } from "../../kernel/vocabulary/identifiers.ts";
import { joinLabels, type Labels, USER_LABELS } from "../../kernel/vocabulary/labels.ts";
import { getSummaryPrompt } from "../../prompts/summary-prompt.ts";
import { taskOf } from "../../runtime/model/model-router.ts";
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import { newId } from "../../runtime/ports/randomness.ts";
import type { StoredSession } from "../../runtime/ports/stored-session.ts";
import type { RunDraft } from "../../runtime/run/accept-run.ts";
import type { Condensing } from "../../runtime/run/acceptance.ts";
import { BodyCache } from "../../runtime/run/body-cache.ts";
import { COMPACTION_SOURCE } from "../../runtime/run/run-rules.ts";
import { buildContext } from "../context/build-context.ts";
import type { ContextLimits } from "../context/context-limits.ts";
import { contractTerms } from "../runs/contract-terms.ts";
import type { DraftingSettings } from "../runs/draft-run.ts";
import { channelClassOf } from "./channel-class.ts";

export interface CompactionRequest {
  readonly session: StoredSession;
  readonly principal: string;
  readonly condenses: Condensing;
  readonly transcript: string;
  readonly labels: Labels;
  readonly limits: ContextLimits;
}

export async function draftCompaction(
  settings: DraftingSettings,
  model: ConfiguredModel,
  routing: Parameters<typeof contractTerms>[0]["routing"],
  { session, principal, condenses, transcript, labels, limits }: CompactionRequest,
): Promise<{ readonly ok: true; readonly draft: RunDraft } | Refusal> {
  const { random, redactor, toolbox, policy, ceilings } = settings;
  const { agentId, sessionId } = session;
  const drafted = contractTerms({
    contractId: newId("contract", random),
    model,
    routing,
    toolbox,
    policy: policy(),
    channelClass: channelClassOf(session.channel),
    overrides: { toolPolicy: "forbidden", allowedTools: [] },
    approvedTools: [],
    capabilities: [],
    ceilings,
  });
  if (!drafted.ok) return refuse("invalid.request", drafted.problem);
  await model.tokens.prepare?.();
  const bodyCache = new BodyCache(random, new Map());
  const message = redactor.redactText(transcript).text;
  const messageRef = bodyCache.keep(message);
  const { versionId: id, content } = getSummaryPrompt();
  const { opening, prompt, manifest } = buildContext({
    system: [{ layer: "base", id, text: content }],
    ...{ agentFile: null, context: null, turns: [], summarizedThrough: 0, offered: [], limits },
    message: { ref: messageRef, text: message, images: { refs: [], tokens: 0 } },
    countTokens: model.tokens.count,
    keep: (text) => bodyCache.keep(text),
  });
  return {
    ok: true,
    draft: {
      run: {
        runId: asRunId(newId("run", random)),
        ...{ agentId, sessionId, source: COMPACTION_SOURCE, lane: `session:${sessionId}`, parentRunId: null },
        ...{ model: model.ref, thinkingMode: "never" },
      },
      contract: sealContract(drafted.terms),
      acceptance: {
        event: {
          type: "run.accepted",
          ...{ messageRef, agentId, sessionId, principal, prompt, retrieved: [] },
          labels: joinLabels(USER_LABELS, labels),
          tools: { digest: toolbox.digest, names: toolbox.tools.map(({ name }) => name) },
          profile: { ...model.profile, grammarProfiles: [...model.profile.grammarProfiles] },
          ...(routing === undefined ? {} : { routing }),
          price: model.price ?? (model.isFree ? { inputPer1k: 0, outputPer1k: 0 } : null),
        },
        isUnattended: true,
        condenses,
        opening,
        manifest,
      },
      bodies: bodyCache.takeUnwritten(),
      ...{ begins: null, idempotency: null, inbound: null },
    },
  };
}

/** The router's choice for a summary: the session's own model is for its conversation. */
export function summaryModel({ chooseModel }: DraftingSettings, agentId: string, inputTokens: number) {
  return chooseModel(null, agentId, taskOf("summarization", inputTokens));
}
