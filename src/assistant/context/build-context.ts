/**
 * Everything a model is sent at the beginning of a run, in the fixed order of P-2.1: base prompt, agent prompt and the
 * workspace's AGENTS.md, channel policy, context (protocol, what the session notes, what was retrieved, its latest turns), the message. A pure function, so the same session gives the same prompt.
 *
 * C1. Turns are taken from the newest backwards, within the limits of turns, characters and tokens; the first that does not
 *     fit ends the history. The newest turn's words are always there.
 * C2. A call and its result are sent together or not at all, and all calls of a turn come before its answer.
 * C3. The manifest says what was sent and what was left out, by id, ref, hash and count; it holds no content.
 */

import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import { promptHead } from "../../kernel/journal/body.ts";
import { countChars, cutText } from "../../kernel/vocabulary/cut-text.ts";
import { hashBytes, hashCanonical } from "../../kernel/vocabulary/hash.ts";
import type { BodyRef, Hash } from "../../kernel/vocabulary/identifiers.ts";
import { joinLabels, type Labels } from "../../kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import type { RegisteredTool, Toolbox } from "../../runtime/ports/toolbox.ts";
import type { Acceptance, ManifestLayer, OpeningItem, PromptManifest } from "../../runtime/run/acceptance.ts";
import type { RetrievedBlock } from "../memory/retrieved-block.ts";
import { AGENT_FILE, type AgentFileText } from "./agent-file.ts";
import type { ContextLimits } from "./context-limits.ts";
import type { PromptLayer } from "./prompt-texts.ts";
import type { SessionTurn, TurnCall } from "./session-turn.ts";
import type { SuppliedTexts } from "./supplied-context.ts";

export interface ContextParts {
  /** Prompt texts by id, in their order. */
  readonly system: readonly PromptLayer[];
  /** The workspace's AGENTS.md; absent: there is none. A text says why it is not sent. */
  readonly agentFile?: AgentFileText | string | null;
  /** What the session remembers; null: nothing. */
  readonly context: { readonly text: string; readonly revision: number; readonly labels: Labels } | null;
  /** The memories that were found for the message; absent: none. */
  readonly retrieved?: RetrievedBlock | null;
  /** Of a conversation that the client keeps; absent: none. */
  readonly supplied?: SuppliedTexts | null;
  /** Oldest first. */
  readonly turns: readonly SessionTurn[];
  /** Turns up to this position are in the summary: they are not left out where they are not sent. 0: none are. */
  readonly summarizedThrough: number;
  readonly message: { readonly ref: BodyRef; readonly text: string; readonly images: SeenImages };
  readonly offered: readonly RegisteredTool[];
  /** Tools whose descriptions did not fit. */
  readonly toolsLeftOut?: readonly string[];
  readonly limits: ContextLimits;
  readonly countTokens: (text: string) => number;
  /** Keeps a derived text as a body. */
  readonly keep: (text: string) => BodyRef;
}

interface SeenImages {
  readonly refs: readonly BodyRef[];
  readonly tokens: number;
}

export interface BuiltContext {
  readonly opening: readonly OpeningItem[];
  readonly prompt: { readonly head: Hash; readonly tokens: number; readonly manifest: Hash };
  readonly manifest: PromptManifest;
  /** Of all that was sent beside the message. */
  readonly labels: Labels | null;
}

export function buildContext(parts: ContextParts): BuiltContext {
  const { system, context, message, offered, limits, countTokens, keep } = parts;
  const { instructions = null, history: supplied = [] } = parts.supplied ?? {};
  const file = typeof parts.agentFile === "object" ? parts.agentFile : null;
  const fileRef = file === null ? null : keep(file.text);
  const history = takeTurns(parts.turns, limits, countTokens);
  const leftOut = parts.turns
    .slice(0, parts.turns.length - history.turns.length)
    .filter(({ position }) => parts.summarizedThrough === 0 || position > parts.summarizedThrough);
  const contextRef = context === null ? null : keep(context.text);
  const { retrieved = null } = parts;
  const retrievedRef = retrieved === null ? null : keep(retrieved.text);
  const opening: OpeningItem[] = [
    ...withAgentFile(system.map(promptItem), fileRef === null ? null : { role: "system", ref: fileRef }, system),
    ...[contextRef, retrievedRef].flatMap((ref) => (ref === null ? [] : [{ role: "system", ref } as const])),
    ...(instructions === null ? [] : [{ role: "system", ref: instructions.ref } as const]),
    ...history.turns.flatMap((turn) => turnItems(turn, limits, keep)),
    ...supplied.map(({ role, ref }) => ({ role, ref })),
    { role: "user", ref: message.ref },
  ];
  const systemLayers = withAgentFile<ManifestLayer>(
    system.map(({ layer, id, text }) => ({ layer, id, sha256: hashBytes(text), tokens: countTokens(text) })),
    file === null || fileRef === null ? null : fileLayer(file, fileRef, countTokens),
    system,
  );
  const contextTokens = context === null ? 0 : countTokens(context.text);
  const messageTokens = countTokens(message.text) + message.images.tokens;
  const toolTokens = offered.length === 0 ? 0 : countTokens(JSON.stringify(offered));
  const manifest: PromptManifest = {
    layers: [
      ...systemLayers,
      ...(context === null || contextRef === null
        ? []
        : [{ layer: "context", ref: contextRef, revision: context.revision, tokens: contextTokens } as const]),
      ...(retrieved === null || retrievedRef === null ? [] : [memoryLayer(retrieved, retrievedRef, countTokens)]),
      ...(history.turns.length === 0
        ? []
        : [{ layer: "history", turns: history.turns.map(({ id }) => id), tokens: history.tokens } as const]),
      ...(instructions === null
        ? []
        : [{ layer: "instructions", ref: instructions.ref, tokens: countTokens(instructions.text) } as const]),
      ...(supplied.length === 0 ? [] : [suppliedLayer(supplied, countTokens)]),
      { layer: "user", ref: message.ref, tokens: messageTokens },
      { layer: "tools", names: offered.map(({ name }) => name), tokens: toolTokens },
    ],
    leftOut: {
      turns: leftOut.length,
      calls: history.callsLeftOut,
      ...(parts.toolsLeftOut?.length ? { tools: parts.toolsLeftOut } : {}),
      ...(typeof parts.agentFile === "string" ? { agentFile: parts.agentFile } : {}),
    },
  };
  const tokens = manifest.layers.reduce((sum, layer) => sum + layer.tokens, 0);
  return {
    opening,
    prompt: {
      head: promptHead(null, [...opening.flatMap(headParts), ...message.images.refs]),
      tokens,
      manifest: hashCanonical(manifest as unknown as JsonValue),
    },
    manifest,
    labels: [
      ...(file === null ? [] : [file.labels]),
      ...[context, retrieved].flatMap((part) => (part === null ? [] : [part.labels])),
      ...history.turns.map(({ labels }) => labels),
    ].reduce<Labels | null>((joined, labels) => (joined === null ? labels : joinLabels(joined, labels)), null),
  };
}

/** The tools of a contract, as the model gets them. */
export function offeredTools(
  toolbox: Pick<Toolbox, "tools">,
  { allowedTools }: ExecutionContract,
): readonly RegisteredTool[] {
  return toolbox.tools.filter(({ name }) => allowedTools?.includes(name));
}

/** A model without vision is sent no images. */
export function seenBy(
  vision: ConfiguredModel["vision"] | undefined,
  images: NonNullable<Acceptance["event"]["media"]>,
): SeenImages {
  if (vision === undefined) return { refs: [], tokens: 0 };
  return {
    refs: images.map(({ ref }) => ref),
    tokens: images.reduce((sum, image) => sum + vision.imageTokens(image), 0),
  };
}

/** After the prompts of base and agent, before that of the channel (P-2.1). */
function withAgentFile<Item>(
  items: readonly Item[],
  file: Item | null,
  system: readonly PromptLayer[],
): readonly Item[] {
  if (file === null) return items;
  const at = system.filter(({ layer }) => layer === "base" || layer === "agent").length;
  return [...items.slice(0, at), file, ...items.slice(at)];
}

function promptItem({ layer, id }: PromptLayer): OpeningItem {
  return { role: "system", id, ...(layer === "protocol" ? { isQuotable: true } : {}) };
}

function fileLayer(
  { text, isCut, labels: { integrity } }: AgentFileText,
  ref: BodyRef,
  countTokens: (text: string) => number,
): ManifestLayer {
  const tokens = countTokens(text);
  return { layer: "agent", file: AGENT_FILE, ref, sha256: hashBytes(text), tokens, integrity, isCut };
}

function memoryLayer(
  { items, text }: RetrievedBlock,
  ref: BodyRef,
  countTokens: (text: string) => number,
): ManifestLayer {
  return { layer: "memory", ref, memories: items.map(({ id }) => id), tokens: countTokens(text) };
}

function suppliedLayer(history: SuppliedTexts["history"], countTokens: (text: string) => number): ManifestLayer {
  const tokens = history.reduce((sum, { text }) => sum + countTokens(text), 0);
  return { layer: "history", turns: history.map(({ ref }) => ref), tokens };
}

/** How many of the newest turns a prompt holds. */
export function turnsThatFit(
  turns: readonly SessionTurn[],
  limits: ContextLimits,
  countTokens: (text: string) => number,
): number {
  return takeTurns(turns, limits, countTokens).turns.length;
}

/** How many of the newest turns are kept when earlier ones are condensed: as many as fill half of what a prompt may hold. */
export function turnsToKeep(
  turns: readonly SessionTurn[],
  limits: ContextLimits,
  countTokens: (text: string) => number,
): number {
  const half = {
    ...limits,
    maxTurns: Math.max(1, Math.floor(limits.maxTurns / 2)),
    recentTokens: limits.recentTokens / 2,
    historyChars: limits.historyChars / 2,
  };
  return turnsThatFit(turns, half, countTokens);
}

/** Of a turn, what decides how much of it is sent. */
export type TurnTexts = Pick<SessionTurn, "asked" | "calls" | "answered">;

interface Taken<Turn> {
  readonly turns: readonly Turn[];
  readonly tokens: number;
  readonly callsLeftOut: number;
}

export function takeTurns<Turn extends TurnTexts>(
  all: readonly Turn[],
  limits: ContextLimits,
  countTokens: (text: string) => number,
): Taken<Turn> {
  const taken: Turn[] = [];
  let chars = 0;
  let wordTokens = 0;
  let callTokens = 0;
  let callsLeftOut = 0;
  for (const turn of all.toReversed()) {
    const words = wordsOf(turn, limits);
    const wordChars = words.reduce((sum, text) => sum + countChars(text), 0);
    const ownTokens = words.reduce((sum, text) => sum + countTokens(text), 0);
    const fits = chars + wordChars <= limits.historyChars && wordTokens + ownTokens <= limits.recentTokens;
    if (taken.length >= limits.maxTurns || (taken.length > 0 && !fits)) break;
    chars += wordChars;
    wordTokens += ownTokens;
    const calls: TurnCall[] = [];
    // Results of later calls matter more; a gap would hide what a later call was about.
    for (const call of turn.calls.toReversed()) {
      const callChars = countChars(call.args) + countChars(call.result);
      const tokens = countTokens(call.args) + countTokens(call.result);
      if (chars + callChars > limits.historyChars || callTokens + tokens > limits.toolResultTokens) break;
      chars += callChars;
      callTokens += tokens;
      calls.unshift(call);
    }
    callsLeftOut += turn.calls.length - calls.length;
    taken.unshift({ ...turn, calls });
  }
  return { turns: taken, tokens: wordTokens + callTokens, callsLeftOut };
}

function wordsOf({ asked, answered }: TurnTexts, { messageChars }: ContextLimits): readonly string[] {
  return [cutText(withNote(asked), messageChars), cutText(answered.text, messageChars)];
}

function withNote({ text, note }: SessionTurn["asked"]): string {
  return note === null ? text : `${text}\n${note}`;
}

function turnItems(
  { asked, calls, answered }: SessionTurn,
  { messageChars: maxChars }: ContextLimits,
  keep: (text: string) => BodyRef,
): readonly OpeningItem[] {
  const kept = calls.map(({ callId, tool, args, result }) => {
    return { callId, tool, argsRef: keep(args), ref: keep(result) };
  });
  return [
    {
      role: "user",
      ref: asked.ref ?? keep(asked.text),
      ...(asked.note === null ? {} : { note: asked.note }),
      maxChars,
    },
    ...(kept.length === 0 ? [] : [{ role: "calls", calls: kept } as const]),
    { role: "assistant", ref: answered.ref ?? keep(answered.text), maxChars },
  ];
}

function headParts(item: OpeningItem): readonly string[] {
  switch (item.role) {
    case "system":
      return ["id" in item ? item.id : item.ref];
    case "calls":
      return item.calls.flatMap(({ argsRef, ref }) => [argsRef, ref]);
    default:
      return item.note === undefined ? [item.ref] : [item.ref, item.note];
  }
}
