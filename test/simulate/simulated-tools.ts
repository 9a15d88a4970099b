/**
 * The tools of the simulation: what a proposed call would do (its plan), and what becomes of it when it is run.
 *
 * Replies are envelopes as a foreign tool would send them, good or bad; the runtime's own boundary reads them.
 */
import { childRunId, childTerms } from "../../src/kernel/contract/child-contract.ts";
import { sealContract } from "../../src/kernel/contract/seal-contract.ts";
import type { PlannedCall, ProposedCall } from "../../src/kernel/journal/event.ts";
import { type RunState, stepId } from "../../src/kernel/machine/state.ts";
import { provenEffects } from "../../src/kernel/policy/effect-match.ts";
import { hashPlan } from "../../src/kernel/policy/plan.ts";
import type { ErrorCode } from "../../src/kernel/vocabulary/error-code.ts";
import { hashCanonical } from "../../src/kernel/vocabulary/hash.ts";
import type { BodyRef, CallId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { Outcome } from "../../src/kernel/vocabulary/outcome.ts";
import { derive } from "./random.ts";
import type { SimulatedTool, World } from "./world.ts";

export interface Bodies {
  readonly keep: (text: string) => BodyRef;
  readonly read: (ref: BodyRef) => string;
}

export function toolNamed({ tools }: World, name: string): SimulatedTool | undefined {
  return tools.find((tool) => tool.name === name);
}

/** `generation` counts how often the same batch has been planned: in some worlds the ground moves meanwhile. */
export function planCall(
  world: World,
  state: RunState,
  proposed: ProposedCall,
  index: number,
  generation: number,
  bodies: Bodies,
): PlannedCall {
  const { callId, argsRef } = proposed;
  const tool = toolNamed(world, proposed.tool);
  const args = JSON.parse(bodies.read(argsRef)) as Record<string, unknown>;
  const host = typeof args["host"] === "string" ? args["host"] : "example.org";
  const egress = tool === undefined || tool.hosts.length === 0 ? [] : [host];
  const problem = problemOf(tool, args);
  const moved = world.plansChange && derive(world.seed, "moved", state.step, callId).chance(40) ? generation : 0;
  return {
    callId,
    tool: proposed.tool,
    argsRef,
    planHash: hashPlan({
      tool: proposed.tool,
      argsRef,
      argv: [],
      cwd: { path: "/work", device: "1", inode: `${moved}` },
      environmentHash: EMPTY_HASH,
      executable: null,
      scriptHashes: [],
      targets: egress,
      labels: state.labels,
      sessionId: world.sessionId,
      contractHash: world.contract.contractHash,
    }),
    risk: tool?.risk ?? "side_effect",
    idempotency: tool?.idempotency ?? "opaque",
    idempotencyKey: tool?.idempotency === "keyed" ? hashCanonical([world.runId, stepId(state), callId, argsRef]) : null,
    pollable: tool?.pollable ?? false,
    egress,
    timeoutMs: tool?.timeoutMs ?? 1,
    effects: tool === undefined ? [] : provenEffects(world.contract.requiredEffects, { tool: tool.name, args }),
    honeypot: tool?.name === "mail.send" && derive(world.seed, "honeypot", argsRef).chance(10),
    ...(tool?.name === "shell.exec" && derive(world.seed, "asks-always", argsRef).chance(40)
      ? { asksAlways: true }
      : {}),
    child: tool?.delegates && problem === null ? plannedChild(world, state, index) : null,
    problem: problem === null ? null : { code: problem, retryable: false, messageRef: bodies.keep(problem) },
  };
}

const EMPTY_HASH = hashCanonical(null);

function problemOf(tool: SimulatedTool | undefined, args: Readonly<Record<string, unknown>>): ErrorCode | null {
  if (tool === undefined) return "tool.not_found";
  if (typeof args["target"] !== "string") return "tool.input_invalid";
  return null;
}

function plannedChild(world: World, state: RunState, index: number): PlannedCall["child"] {
  const { contract, budget } = state;
  const random = derive(world.seed, "child", state.step, index);
  const request = {
    contractId: "contract_child",
    tools: ["fs.read_text"],
    toolPolicy: "optional",
    maxInferences: random.between(1, 3),
    maxTokensConsumed: random.between(100, 2_000),
    maxSpendMicrousd: random.between(0, 2_000),
    totalTimeoutMs: 1_000,
    outputSchema: null,
  } as const;
  const left = {
    inferences: contract.maxInferences - budget.inferences,
    tokens: contract.maxTokensConsumed - budget.tokens,
    spendMicrousd: contract.maxSpendMicrousd === null ? null : contract.maxSpendMicrousd - budget.spendMicrousd,
    elapsedMs: contract.totalTimeoutMs - state.elapsedMs,
  };
  const drafted = childTerms(contract, left, request);
  // With nothing left to give, the parent asks all the same: EXECUTE must refuse it.
  const {
    maxInferences: inferences,
    maxTokensConsumed: tokens,
    maxSpendMicrousd,
  } = drafted.ok ? drafted.terms : request;
  return {
    runId: childRunId(world.runId, stepId(state), index),
    contractHash: drafted.ok ? sealContract(drafted.terms).contractHash : contract.contractHash,
    budget: { inferences, tokens, spendMicrousd: Math.max(0, maxSpendMicrousd ?? 0) },
  };
}

export interface ToolReply {
  /** When the world is changed; null where the tool does not get that far, or does not act beyond our own store. */
  readonly effectAfterMs: number | null;
  /** When it answers; null where it hangs. */
  readonly afterMs: number | null;
  readonly envelope: unknown;
}

export function toolReply(
  world: World,
  tool: SimulatedTool,
  turn: number,
  callId: CallId,
  argsRef: BodyRef,
): ToolReply {
  const random = derive(world.seed, "reply", tool.name, argsRef, tool.steady ? "" : `${turn} ${callId}`);
  const afterMs = random.between(2, 80);
  const isOutside = tool.idempotency === "keyed" || tool.idempotency === "opaque";
  const effectAfterMs = isOutside ? random.between(0, afterMs) : null;
  const common = { requestId: callId, runId: world.runId, tool: tool.name, durationMs: afterMs, finishedAt: "" };
  const ok = { ...common, ok: true, output: { said: `${tool.name} ${random.below(1_000)}` }, error: null };
  const failed = {
    ...common,
    ok: false,
    error: { code: "internal.error", message: `no luck ${random.below(2)}`, retryable: true, details: {} },
  };
  switch (tool.temper) {
    case "ok":
      return { effectAfterMs, afterMs, envelope: ok };
    case "failing":
      return { effectAfterMs: random.chance(30) ? effectAfterMs : null, afterMs, envelope: failed };
    case "flapping":
      return { effectAfterMs, afterMs, envelope: random.chance(50) ? failed : ok };
    case "hanging":
      return { effectAfterMs: random.chance(50) ? effectAfterMs : null, afterMs: null, envelope: null };
    case "oversized":
      return { effectAfterMs, afterMs, envelope: { ...ok, output: "é".repeat(random.between(20, 400)) } };
    case "malformed":
      return {
        effectAfterMs,
        afterMs,
        envelope: random.pick<unknown>(["done", null, { ok: true }, { ...ok, extra: 1 }]),
      };
    case "inconsistent":
      return { effectAfterMs, afterMs, envelope: { ...failed, ok: true, output: "both" } };
  }
}

export interface ChildReply {
  readonly afterMs: number;
  readonly outcome: Outcome;
  /** Shares of the carved budget that were spent; tokens may overrun, as anybody's usage may. */
  readonly inferencesPercent: number;
  readonly tokensPercent: number;
}

export function childReply(world: World, turn: number, callId: CallId): ChildReply {
  const random = derive(world.seed, "child-reply", turn, callId);
  return {
    afterMs: random.between(50, 3_000),
    outcome: random.pick(["COMPLETED_WITH_TOOLS", "COMPLETED_CHAT_ONLY", "FAILED_TIMEOUT", "FAILED_VALIDATION"]),
    inferencesPercent: random.between(0, 100),
    tokensPercent: random.chance(8) ? 160 : random.between(0, 100),
  };
}

/** How a tool takes being stopped. */
export function stopReply(world: World, turn: number, callId: CallId): "dies" | "reports" | "ignores" {
  return derive(world.seed, "stop", turn, callId).pick(["dies", "reports", "ignores"]);
}
