/**
 * `grammar-json`: the answer is one JSON document, either calls or a text or both: `{"calls":[{"tool":…,"args":{…}}]}`,
 * `{"text":…}`. A model is held to it while it decodes (grammar/derive-grammar.ts); here it is read as if it were not.
 *
 * J1. A document that was cut off, or does not parse, is refused as a whole.
 * J2. Calls have no ids of their own, which a grammar could not keep unique: they are numbered.
 * J3. The text may hold NOTES. Markers within arguments are data.
 */
import type { JsonValue } from "../vocabulary/parse-json.ts";
import { type CallsReading, type DocumentReading, defineAdapter } from "./define-adapter.ts";
import type { RawModelOutput } from "./raw-model-output.ts";
import { isJsonObject, readJson } from "./read-json.ts";
import { type DraftCall, settleCalls } from "./settle-calls.ts";

export const grammarJson = defineAdapter({
  version: "grammar-json@1",
  channel: "document",
  readDocument,
  readCalls,
});

const DOCUMENT_KEYS: readonly string[] = ["calls", "text"];
const CALL_KEYS: readonly string[] = ["tool", "args"];

function readDocument(content: string): DocumentReading {
  const reading = readJson(content);
  if (!reading.ok) return reading;
  if (!isJsonObject(reading.value)) return { ok: false, failure: "protocol.not-a-document" };
  if (Object.keys(reading.value).some((key) => !DOCUMENT_KEYS.includes(key))) {
    return { ok: false, failure: "protocol.not-a-document" };
  }
  const { text = "", calls = [] } = reading.value;
  if (typeof text !== "string") return { ok: false, failure: "protocol.not-a-document" };
  return Array.isArray(calls) ? { ok: true, text, calls } : { ok: false, failure: "protocol.not-an-array" };
}

function readCalls(raw: RawModelOutput, _blocks: unknown, calls: readonly JsonValue[]): CallsReading {
  const drafts: DraftCall[] = [];
  for (const [index, value] of calls.entries()) {
    if (!isJsonObject(value)) return { ok: false, failure: "protocol.not-a-call" };
    if (Object.keys(value).some((key) => !CALL_KEYS.includes(key))) {
      return { ok: false, failure: "protocol.unknown-call-key" };
    }
    const { tool, args } = value;
    if (typeof tool !== "string") return { ok: false, failure: "protocol.invalid-tool-name" };
    if (!isJsonObject(args)) return { ok: false, failure: "protocol.invalid-arguments" };
    drafts.push({ id: `call_${index + 1}`, writtenName: tool, name: tool, arguments: args });
  }
  return settleCalls(drafts, raw.model, []);
}
