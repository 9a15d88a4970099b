/**
 * `native-tools`: the provider's own tool calls, with names as `tool-names.ts` encodes them.
 *
 * Arguments must be one JSON object. Text may hold NOTES, but no TOOL_CALLS block.
 */
import { type CallsReading, defineAdapter } from "./define-adapter.ts";
import type { ProtocolFailure } from "./protocol-failure.ts";
import type { RawModelOutput } from "./raw-model-output.ts";
import { isJsonObject, readJson } from "./read-json.ts";
import { type DraftCall, settleCalls } from "./settle-calls.ts";
import { decodeToolName } from "./tool-names.ts";

export const nativeTools = defineAdapter({ version: "native-tools@2", channel: "native", readCalls });
export const nativeTools1 = defineAdapter({
  version: "native-tools@1",
  channel: "native",
  readsThoughts: true,
  readCalls,
});

function readCalls(raw: RawModelOutput): CallsReading {
  const drafts: DraftCall[] = [];
  const recovered: ProtocolFailure[] = [];
  for (const { id, name, argumentsText } of raw.toolCalls) {
    if (argumentsText === "") recovered.push("protocol.empty-arguments");
    const reading = readJson(argumentsText === "" ? "{}" : argumentsText);
    if (!reading.ok) return reading;
    if (!isJsonObject(reading.value)) return { ok: false, failure: "protocol.invalid-arguments" };
    drafts.push({ id, writtenName: name, name: decodeToolName(name) ?? name, arguments: reading.value });
  }
  return settleCalls(drafts, raw.model, recovered);
}
