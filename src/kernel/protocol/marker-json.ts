/**
 * `marker-json`: tool calls as a JSON array of {id, tool, args} in one TOOL_CALLS block of the text (S-3.1). One fault
 * rejects the block. A block inside a code fence is a block: what may run is decided by policy, not by typography.
 */
import type { JsonValue } from "../vocabulary/parse-json.ts";
import { type CallsReading, defineAdapter } from "./define-adapter.ts";
import type { ProtocolFailure } from "./protocol-failure.ts";
import type { RawModelOutput } from "./raw-model-output.ts";
import { isJsonObject, readJson } from "./read-json.ts";
import type { ScannedBlocks } from "./scan-blocks.ts";
import { type DraftCall, settleCalls } from "./settle-calls.ts";

export const markerJson = defineAdapter({ version: "marker-json@2", channel: "text", readCalls });
export const markerJson1 = defineAdapter({ version: "marker-json@1", channel: "text", readsThoughts: true, readCalls });

const CALL_KEYS: readonly string[] = ["id", "tool", "args"];
const FENCED = /^[ \t\r\n]*```(?:json)?[ \t]*\r?\n([\s\S]*)\n[ \t]*```[ \t\r\n]*$/;

function readCalls(raw: RawModelOutput, blocks: ScannedBlocks): CallsReading {
  if (blocks.toolCalls === null) return { ok: true, calls: [], recovered: [] };
  const fenced = FENCED.exec(blocks.toolCalls)?.[1];
  const reading = readJson(fenced ?? blocks.toolCalls);
  if (!reading.ok) return reading;
  if (!Array.isArray(reading.value)) return { ok: false, failure: "protocol.not-an-array" };
  const drafts: DraftCall[] = [];
  for (const value of reading.value as readonly JsonValue[]) {
    const draft = readCall(value);
    if (typeof draft === "string") return { ok: false, failure: draft };
    drafts.push(draft);
  }
  return settleCalls(drafts, raw.model, fenced === undefined ? [] : ["protocol.fenced-block"]);
}

function readCall(value: JsonValue): DraftCall | ProtocolFailure {
  if (!isJsonObject(value)) return "protocol.not-a-call";
  if (Object.keys(value).some((key) => !CALL_KEYS.includes(key))) return "protocol.unknown-call-key";
  const { id = "", tool, args } = value;
  if (typeof id !== "string") return "protocol.invalid-id";
  if (typeof tool !== "string") return "protocol.invalid-tool-name";
  if (!isJsonObject(args)) return "protocol.invalid-arguments";
  return { id, writtenName: tool, name: tool, arguments: args };
}
