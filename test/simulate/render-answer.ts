/**
 * What a simulated model means, written the way its protocol wants it, or spoiled the way models spoil it. The real
 * adapters read the result, so that the whole way from text to event is simulated.
 */
import { NOTES_BEGIN, NOTES_END, TOOL_CALLS_BEGIN, TOOL_CALLS_END } from "../../src/kernel/protocol/markers.ts";
import type { RawModelOutput, RawToolCall } from "../../src/kernel/protocol/raw-model-output.ts";
import { encodeToolName } from "../../src/kernel/protocol/tool-names.ts";

export interface IntendedCall {
  readonly id: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface Intention {
  readonly text: string;
  readonly calls: readonly IntendedCall[];
  /** The inside of a NOTES block. */
  readonly notes: string | null;
  readonly fault: AnswerFault | null;
}

export const ANSWER_FAULTS = [
  "incomplete",
  "cut",
  "broken-json",
  "duplicate-id",
  "wrong-channel",
  "empty",
  "lone-surrogate",
  "stray-marker",
  "arguments-not-object",
  /** Lenient contracts recover from these two. */
  "missing-id",
  "sloppy-arguments",
] as const;
export type AnswerFault = (typeof ANSWER_FAULTS)[number];

export function renderAnswer(adapterVersion: string, intention: Intention): RawModelOutput {
  const isText = adapterVersion.startsWith("marker-json");
  const { fault } = intention;
  const onText = fault === "wrong-channel" ? !isText : isText;
  const calls = fault === "duplicate-id" ? withTwin(intention.calls) : intention.calls;
  const text = fault === "empty" ? "" : visibleText(intention);
  const block = calls.length > 0 && onText ? callBlock(calls, fault) : "";
  return {
    content: fault === "empty" ? "" : `${text}${block}`,
    toolCalls: onText || fault === "empty" ? [] : calls.map((call) => nativeCall(call, fault)),
    stopReason: fault === "cut" ? "length" : "stop",
    model: "simulated-model-1",
    complete: fault !== "incomplete",
  };
}

function visibleText({ text, notes, fault }: Intention): string {
  const stray = fault === "stray-marker" ? TOOL_CALLS_END : "";
  const lone = fault === "lone-surrogate" ? "\ud800" : "";
  return `${text}${notes === null ? "" : `${NOTES_BEGIN}${notes}${NOTES_END}`}${stray}${lone}`;
}

function withTwin(calls: readonly IntendedCall[]): readonly IntendedCall[] {
  return [...calls, ...calls.slice(0, 1)];
}

function callBlock(calls: readonly IntendedCall[], fault: AnswerFault | null): string {
  const written = calls.map(({ id, tool, args }) => {
    const spoiledArgs = fault === "arguments-not-object" ? [1] : args;
    return fault === "missing-id" ? { tool, args: spoiledArgs } : { id, tool, args: spoiledArgs };
  });
  const json = JSON.stringify(written);
  const body = fault === "broken-json" ? json.slice(0, -1) : json;
  return `${TOOL_CALLS_BEGIN}${fault === "sloppy-arguments" ? `\n\`\`\`json\n${body}\n\`\`\`\n` : body}${TOOL_CALLS_END}`;
}

function nativeCall({ id, tool, args }: IntendedCall, fault: AnswerFault | null): RawToolCall {
  const json = JSON.stringify(args);
  return {
    id: fault === "missing-id" ? null : id,
    name: encodeToolName(tool),
    argumentsText: nativeArguments(json, fault),
  };
}

function nativeArguments(json: string, fault: AnswerFault | null): string {
  switch (fault) {
    case "broken-json":
      return json.slice(0, -1);
    case "arguments-not-object":
      return `[${json}]`;
    case "sloppy-arguments":
      return "";
    default:
      return json;
  }
}
