/** A whole world out of one seed: contract, model, tools, operator, what happens in between, and where it crashes. */
import type { ExecutionContract } from "../../src/kernel/contract/contract.ts";
import type { LivePolicy } from "../../src/kernel/journal/event.ts";
import { hashCanonical } from "../../src/kernel/vocabulary/hash.ts";
import { asBodyRef, asRunId, asSessionId } from "../../src/kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS, UNTRUSTED_LABELS, USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { generateContract, MODEL_PROFILE, TOOLS_DIGEST } from "./generate-contract.ts";
import { derive, type Random } from "./random.ts";
import { TOOL_CATALOG, TOOL_NAMES } from "./tool-catalog.ts";
import type { Crash, SimulatedModel, SimulatedTool, World } from "./world.ts";

/** Of the model; an earlier version told none. */
const PRICES: readonly Pick<World["accepted"], "price">[] = [
  {},
  { price: null },
  { price: { inputPer1k: 0, outputPer1k: 0 } },
  { price: { inputPer1k: 150.5, outputPer1k: 600 } },
];

export function generateWorld(seed: number): World {
  const random = derive(seed, "world");
  const contract = generateContract(seed);
  const { adapterVersion } = contract;
  return {
    seed,
    runId: asRunId(`run_simulated_${seed}`),
    sessionId: asSessionId(`session_${seed}`),
    salt: Uint8Array.from({ length: 16 }, () => random.below(256)),
    contract,
    accepted: {
      type: "run.accepted",
      messageRef: asBodyRef(hashCanonical(["message", seed])),
      agentId: "agent",
      sessionId: `session_${seed}`,
      principal: "operator",
      labels: random.pick([USER_LABELS, USER_LABELS, CLEAN_LABELS, UNTRUSTED_LABELS]),
      prompt: {
        head: hashCanonical(["prompt", seed]),
        tokens: promptTokens(contract, random),
        manifest: hashCanonical(["manifest", seed]),
      },
      retrieved: [],
      tools: { digest: TOOLS_DIGEST, names: [...TOOL_NAMES] },
      profile: {
        id: MODEL_PROFILE,
        adapterVersion: adapterVersion === "another@1" ? "native-tools@1" : adapterVersion,
        supportsTools: random.chance(99),
        holdsRequired: random.chance(99),
        grammarProfiles: [],
      },
      ...PRICES[seed % PRICES.length],
    },
    backend: random.weigh({ responsive: 98, down: 1, hanging: 1 }),
    model: anyModel(random),
    tools: TOOL_CATALOG.map((tool): SimulatedTool => ({ ...tool, ...anyBehaviour(derive(seed, "tool", tool.name)) })),
    operator: random.weigh({ allows: 45, denies: 12, wavers: 25, silent: 10, unreachable: 8 }),
    compaction: random.weigh({ good: 60, useless: 22, failing: 14, hanging: 4 }),
    narrowings: random.chance(16) ? anyNarrowings(contract, random) : [],
    cancel: random.chance(10)
      ? { atSeq: random.below(16), afterMs: anyDelay(random), beforeAccepted: random.chance(10) }
      : null,
    crashes: (random.chance(50) ? anyCrashes(random) : []).map((crash, index) =>
      derive(seed, "restore", index).chance(15) ? { ...crash, isRestore: true } : crash,
    ),
    plansChange: random.chance(6),
    noisy: random.chance(25),
  };
}

function promptTokens({ contextBudget, maxTokensConsumed }: ExecutionContract, random: Random): number {
  const { contextWindow, reservedSynthesis } = contextBudget;
  if (random.chance(2)) return contextWindow;
  if (random.chance(8)) return Math.max(1, contextWindow - reservedSynthesis - random.below(200));
  const share = random.between(1, 25) / 100;
  return Math.max(1, Math.floor(Math.min(contextWindow, maxTokensConsumed) * share));
}

function anyModel(random: Random): SimulatedModel {
  return {
    mood: random.weigh({
      good: 30,
      lazy: 6,
      malformed: 8,
      looping: 6,
      alternating: 5,
      hostile: 15,
      slow: 8,
      flaky: 9,
      overspending: 5,
      verbose: 8,
    }),
    share: random.pick([30, 60, 100]),
    turns: random.below(10),
    favourite: random.pick(TOOL_NAMES),
    microusdPerToken: random.below(6),
  };
}

function anyBehaviour(random: Random) {
  const temper = random.weigh({
    ok: 66,
    failing: 10,
    flapping: 8,
    hanging: 5,
    oversized: 7,
    malformed: 2,
    inconsistent: 2,
  });
  return { temper, steady: random.chance(70), timeoutMs: random.pick([60, 300, 2_000, 30_000]) };
}

function anyDelay(random: Random): number {
  return random.chance(40) ? 0 : random.below(400);
}

function anyNarrowings(contract: ExecutionContract, random: Random): World["narrowings"] {
  return Array.from({ length: random.between(1, 3) }, () => ({
    atSeq: random.below(20),
    afterMs: anyDelay(random),
    live: anyLive(contract, random),
  })).sort((a, b) => a.atSeq - b.atSeq);
}

function anyLive({ policy, capabilities }: ExecutionContract, random: Random): LivePolicy {
  switch (random.weigh({ killSwitch: 35, revokedTools: 20, revokedCapabilities: 15, deniedTool: 15, restored: 15 })) {
    case "killSwitch":
      return { policy: { ...policy, sideEffects: "disabled" }, capabilities };
    case "revokedTools":
      return { policy: { ...policy, allow: TOOL_NAMES.filter(() => random.chance(50)) }, capabilities };
    case "revokedCapabilities":
      return { policy, capabilities: [] };
    case "deniedTool":
      return {
        policy: { ...policy, exceptions: [{ tool: random.pick(TOOL_NAMES), decision: "deny" }, ...policy.exceptions] },
        capabilities,
      };
    case "restored":
      return { policy, capabilities };
  }
}

function anyCrashes(random: Random): readonly Crash[] {
  return Array.from({ length: random.pick([1, 1, 1, 2, 4]) }, () => ({
    afterEvent: random.chance(25) ? null : random.below(random.pick([6, 12, 30])),
    afterMs: anyDelay(random),
    beforeCommands: random.chance(30),
  }));
}
