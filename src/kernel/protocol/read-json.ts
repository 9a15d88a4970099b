/** Strict JSON inside an answer: the parser's problems under the protocol's names. */
import { type JsonValue, parseJson } from "../vocabulary/parse-json.ts";
import type { ProtocolFailure } from "./protocol-failure.ts";

export type JsonObject = { readonly [key: string]: JsonValue };

export type JsonReading =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly failure: ProtocolFailure };

export function readJson(text: string): JsonReading {
  const parsed = parseJson(text);
  if (parsed.ok) return parsed;
  switch (parsed.problem) {
    case "duplicate key":
      return { ok: false, failure: "protocol.duplicate-key" };
    case "something follows the value":
      return { ok: false, failure: "protocol.trailing-garbage" };
    default:
      return { ok: false, failure: "protocol.invalid-json" };
  }
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
