/**
 * The common part of all adapters: an adapter defines the channel of its tool calls and how one call is read. A call on
 * the other channel is rejected, and a call is never taken from an answer that was cut. Reading is the same in both
 * modes; strict mode then rejects what needed recovery. Inline reasoning is taken off first, so nothing in it is read.
 */
import type { ToolInvocation } from "../vocabulary/message.ts";
import type { JsonValue } from "../vocabulary/parse-json.ts";
import { TOOL_CALLS_BEGIN, TOOL_CALLS_END } from "./markers.ts";
import { readNotes } from "./notes.ts";
import type { AdapterMode, ProtocolAdapter, ProtocolAdapterResult } from "./protocol-adapter.ts";
import type { ProtocolFailure } from "./protocol-failure.ts";
import { hashRawOutput, isCut, isWellFormed, type RawModelOutput } from "./raw-model-output.ts";
import { stripThoughts } from "./release/thought-stripper.ts";
import { type ScannedBlocks, scanBlocks } from "./scan-blocks.ts";

/** `document`: text and calls share one JSON document, so all of it is read or none. */
export type CallChannel = "native" | "text" | "document";

export type DocumentReading =
  | { readonly ok: true; readonly text: string; readonly calls: readonly JsonValue[] }
  | { readonly ok: false; readonly failure: ProtocolFailure };

export type CallsReading =
  | {
      readonly ok: true;
      readonly calls: readonly ToolInvocation[];
      readonly recovered: readonly ProtocolFailure[];
    }
  | { readonly ok: false; readonly failure: ProtocolFailure };

export interface AdapterDefinition {
  readonly version: string;
  readonly channel: CallChannel;
  /** Version 1 took inline reasoning for a part of the answer. */
  readonly readsThoughts?: true;
  /** Of the channel `document`. */
  readonly readDocument?: (content: string) => DocumentReading;
  readonly readCalls: (raw: RawModelOutput, blocks: ScannedBlocks, calls: readonly JsonValue[]) => CallsReading;
}

const BLANK = /^[ \t\r\n]*$/;

export function defineAdapter(definition: AdapterDefinition): ProtocolAdapter {
  return {
    version: definition.version,
    adapt: (raw, mode) => adapt(definition, raw, mode),
  };
}

function adapt(definition: AdapterDefinition, written: RawModelOutput, mode: AdapterMode): ProtocolAdapterResult {
  const decision = { rawHash: hashRawOutput(written), adapterVersion: definition.version };
  const raw = definition.readsThoughts ? written : { ...written, content: stripThoughts(written.content) };
  const reject = (failureCode: ProtocolFailure): ProtocolAdapterResult => {
    return { ...decision, status: "rejected", canonicalMessage: null, failureCode, notes: null };
  };

  const unfit = findUnfit(definition.channel, raw);
  if (unfit !== null) return reject(unfit);
  const document = definition.readDocument?.(raw.content) ?? { ok: true, text: raw.content, calls: [] };
  if (!document.ok) return reject(document.failure);
  const blocks = scanBlocks(document.text);
  if (blocks.fault !== null) return reject(blocks.fault);
  if (definition.channel === "document" && blocks.toolCalls !== null) return reject("protocol.wrong-channel");
  const reading = definition.readCalls(raw, blocks, document.calls);
  if (!reading.ok) return reject(reading.failure);
  const [recovered] = reading.recovered;
  if (recovered !== undefined && mode === "strict") return reject(recovered);
  const notes = readNotes(blocks);
  if (reading.calls.length === 0 && notes === null && BLANK.test(blocks.visibleText)) return reject("protocol.empty");

  const canonicalMessage = { role: "assistant" as const, content: blocks.visibleText, toolCalls: [...reading.calls] };
  return recovered === undefined
    ? { ...decision, status: "native", canonicalMessage, failureCode: null, notes }
    : { ...decision, status: "recovered", canonicalMessage, failureCode: recovered, notes };
}

function findUnfit(channel: CallChannel, raw: RawModelOutput): ProtocolFailure | null {
  if (!isWellFormed(raw)) return "protocol.ill-formed-text";
  if (!raw.complete) return "protocol.incomplete";
  const onNative = raw.toolCalls.length > 0;
  if (channel === "document") return onNative ? "protocol.wrong-channel" : isCut(raw) ? "protocol.truncated" : null;
  const onText = raw.content.includes(TOOL_CALLS_BEGIN) || raw.content.includes(TOOL_CALLS_END);
  if (onNative && onText) return "protocol.mixed-channels";
  if (channel === "native" ? onText : onNative) return "protocol.wrong-channel";
  if ((onNative || onText) && isCut(raw)) return "protocol.truncated";
  return null;
}
