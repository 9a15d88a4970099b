/** Strict JSON inside an answer: the parser's codes under the protocol's names. */
import { type JsonValue, parseJson } from "../vocabulary/parse-json.ts";
import type { ProtocolFailure } from "./protocol-failure.ts";

export type JsonObject = { readonly [key: string]: JsonValue };

export type JsonReading =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly failure: ProtocolFailure };

export function readJson(text: string): JsonReading {
  const parsed = parseJson(text);
  if (parsed.ok) return parsed;
  return { ok: false, failure: FAILURE_OF[parsed.code] };
}

const FAILURE_OF = {
  "duplicate-key": "protocol.duplicate-key",
  "trailing-text": "protocol.trailing-garbage",
  invalid: "protocol.invalid-json",
} as const satisfies Record<string, ProtocolFailure>;

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
