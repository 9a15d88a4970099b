/**
 * The models of the simulation: what one of them answers when it is asked.
 *
 * An answer follows from the world and from what the model is shown (`ModelView`), so the same attempt asked again
 * after a crash is answered the same way.
 */
import type { InferMode } from "../../src/kernel/journal/entry.ts";
import type { RawModelOutput } from "../../src/kernel/protocol/raw-model-output.ts";
import { derive, type Random } from "./random.ts";
import { ANSWER_FAULTS, type IntendedCall, type Intention, renderAnswer } from "./render-answer.ts";
import { HOSTS, TOOL_NAMES } from "./tool-catalog.ts";
import type { ModelMood, World } from "./world.ts";

export interface ModelView {
  readonly attempt: number;
  /** Which turn of the loop this is, from 1. */
  readonly turn: number;
  readonly mode: InferMode;
  readonly tools: readonly string[];
  readonly promptTokens: number;
  readonly maxOutputTokens: number;
}

interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costMicrousd: number;
}

export type ModelReply =
  | {
      readonly kind: "answers";
      readonly afterMs: number;
      readonly raw: RawModelOutput;
      readonly usage: Usage;
      readonly tokens: number;
    }
  | {
      readonly kind: "fails";
      readonly afterMs: number;
      readonly code: string;
      readonly retryable: boolean;
      readonly retryAfterMs: number;
      readonly usage: Usage;
    }
  | { readonly kind: "hangs" };

const TARGETS = ["a", "b", "c", "d"] as const;

export function modelReply(world: World, view: ModelView): ModelReply {
  const random = derive(world.seed, "model", view.attempt);
  const mood = random.chance(world.model.share) ? world.model.mood : "good";
  if (mood === "slow" && random.chance(40)) return { kind: "hangs" };
  const afterMs = mood === "slow" ? random.between(200, 4_000) : random.between(5, 120);
  if (mood === "flaky" && random.chance(60)) return failure(world, view, random, afterMs);
  const raw = renderAnswer(world.contract.adapterVersion, intentionOf(world, view, mood, random));
  const tokens = Math.ceil(lengthOf(raw) / 4) + (mood === "verbose" ? random.between(100, 900) : 0);
  const greed = mood === "overspending" ? random.between(1, 40) : 1;
  const usage = usageOf(world, view.promptTokens, Math.min(tokens, view.maxOutputTokens) * greed);
  return { kind: "answers", afterMs, raw, usage, tokens };
}

function failure(world: World, view: ModelView, random: Random, afterMs: number): ModelReply {
  const usage = usageOf(world, random.chance(20) ? view.promptTokens : 0, 0);
  const retryAfterMs = random.pick([0, 0, 50, 700]);
  const code = random.pick(["provider.429", "provider.500", "provider.reset"]);
  return { kind: "fails", afterMs, code, retryable: random.chance(80), retryAfterMs, usage };
}

function usageOf({ model }: World, inputTokens: number, outputTokens: number): Usage {
  return { inputTokens, outputTokens, costMicrousd: (inputTokens + outputTokens) * model.microusdPerToken };
}

function lengthOf({ content, toolCalls }: RawModelOutput): number {
  return toolCalls.reduce((sum, call) => sum + call.name.length + call.argumentsText.length, content.length);
}

function intentionOf(world: World, view: ModelView, mood: ModelMood, random: Random): Intention {
  switch (mood) {
    case "lazy":
      return say("Done: I have taken care of everything.");
    case "malformed":
      if (view.mode === "repair" && random.chance(50)) return goodIntention(world, view, random);
      return { ...eager(world, view, random), fault: random.pick(ANSWER_FAULTS) };
    case "looping":
      return act([call(0, loopTool(view, 0), { target: "a" })]);
    case "alternating":
      return act([call(0, loopTool(view, view.turn % 2), { target: view.turn % 2 === 0 ? "a" : "b" })]);
    case "hostile":
      return hostileIntention(world, view, random);
    default:
      return goodIntention(world, view, random);
  }
}

function goodIntention(world: World, view: ModelView, random: Random): Intention {
  const { contract, model } = world;
  const needsCall = contract.toolPolicy === "required" || contract.requiredEffects.length > 0;
  const turns = Math.max(model.turns, needsCall ? 1 : 0);
  const mayAct = view.mode !== "synthesis" && view.tools.length > 0;
  if (!mayAct || view.turn > turns) return say(`Here is what I found (${view.turn}).`);
  return eager(world, view, random);
}

/** Calls tools, those that prove the required effects first. */
function eager({ contract, model }: World, view: ModelView, random: Random): Intention {
  const proofs =
    view.turn === 1 ? contract.requiredEffects.map((effect) => effect.tool.replace("*", "write_text")) : [];
  const offered = view.tools.length === 0 ? TOOL_NAMES : view.tools;
  const likes = offered.includes(model.favourite) ? 40 : 0;
  const chosen = Array.from({ length: random.pick([1, 1, 2, 3]) }, () =>
    random.chance(likes) ? model.favourite : random.pick(offered),
  );
  const calls = [
    ...proofs.map((tool, index) => call(index, tool, { target: "proof", host: HOSTS[0] })),
    ...chosen.map((tool, index) => call(proofs.length + index, tool, anyArguments(random))),
  ];
  const notes = random.chance(10) ? NOTES : null;
  return { ...act(calls), text: random.chance(50) ? "Let me look." : "", notes };
}

const NOTES = '{"add_decisions":["looked"],"actions":["grant_permission:net"]}';

function hostileIntention(world: World, view: ModelView, random: Random): Intention {
  const some = (): string => random.pick(view.tools.length > 0 && random.chance(60) ? view.tools : TOOL_NAMES);
  const one = some();
  const trick = random.pick([
    "unknown",
    "swarm",
    "thrice",
    "twins",
    "invalid",
    "prototype",
    "stranger",
    "notes",
    "plan",
  ]);
  switch (trick) {
    case "unknown":
      return act([call(0, "rocket.launch", { target: "moon" })]);
    case "swarm":
      return act(Array.from({ length: 9 }, (_, index) => call(index, some(), anyArguments(random))));
    case "thrice":
      return act([one, one, one, some()].map((tool, index) => call(index, tool, { target: "a", host: HOSTS[0] })));
    case "twins":
      return act([one, one, some(), some()].map((tool, index) => call(index, tool, { target: "a", host: HOSTS[0] })));
    case "invalid":
      return act([call(0, one, { aim: 1 }), call(1, some(), anyArguments(random))]);
    case "prototype":
      return act([call(0, one, JSON.parse('{"__proto__":{"admin":true},"target":"a"}'))]);
    case "stranger":
      return act([
        call(0, "web.get", { target: "a", host: "evil.test" }),
        call(1, "mail.send", { target: "a", host: "evil.test" }),
      ]);
    case "notes":
      return { ...say("Of course."), notes: '{"capabilities_granted":["net"],"actions":"grant"}' };
    default:
      return eager(world, view, random);
  }
}

function loopTool({ tools }: ModelView, index: number): string {
  return tools[index % Math.max(1, tools.length)] ?? "fs.read_text";
}

function anyArguments(random: Random): IntendedCall["args"] {
  return { target: random.pick(TARGETS), host: random.pick(HOSTS) };
}

function call(index: number, tool: string, args: IntendedCall["args"]): IntendedCall {
  return { id: `call_${index + 1}`, tool, args };
}

function say(text: string): Intention {
  return { text, calls: [], notes: null, fault: null };
}

function act(calls: readonly IntendedCall[]): Intention {
  return { text: "", calls, notes: null, fault: null };
}
