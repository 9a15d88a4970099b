/**
 * Fields of a JSON body or query, read one by one.
 *
 * F1. A refusal names the field and what it should be, never what was in it.
 * F2. A field nobody knows is refused: a misspelt one would otherwise mean something else, silently.
 */
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import { invalidRequest } from "./http-error.ts";

export type Fields = Readonly<Record<string, JsonValue>>;
export type Reader<Value> = (value: JsonValue, name: string) => Value;

/** A name that may be repeated in an error: a word, too short for a secret. */
const WORD = /^[a-z][a-z_]{0,39}$/;

export function readFields(value: JsonValue, name: string, known: readonly string[]): Fields {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw invalidRequest(`${name} must be a JSON object`);
  }
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    const named = WORD.test(unknown) ? ` ${unknown}` : "";
    throw invalidRequest(`unknown field${named} in ${name}; known are ${known.join(", ")}`);
  }
  return value as Fields;
}

export function required<Value>(fields: Fields, name: string, read: Reader<Value>): Value {
  const value = fields[name];
  if (value === undefined || value === null || value === "") throw invalidRequest(`${name} is required`);
  return read(value, name);
}

/** Left out and null are the same. */
export function optional<Value>(fields: Fields, name: string, read: Reader<Value>): Value | null {
  const value = fields[name];
  return value === undefined || value === null ? null : read(value, name);
}

export const text =
  (maxChars = Number.POSITIVE_INFINITY): Reader<string> =>
  (value, name) => {
    if (typeof value !== "string" || value.trim() === "") throw invalidRequest(`${name} must be a text, not empty`);
    if (value.length > maxChars) throw invalidRequest(`${name} must have at most ${maxChars} characters`);
    return value;
  };

export const oneOf =
  <const Choice extends string>(choices: readonly Choice[]): Reader<Choice> =>
  (value, name) => {
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) throw invalidRequest(`${name} must be one of ${choices.join(", ")}`);
    return chosen;
  };

export const flag: Reader<boolean> = (value, name) => {
  if (typeof value !== "boolean") throw invalidRequest(`${name} must be true or false`);
  return value;
};

export const count: Reader<number> = (value, name) => {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw invalidRequest(`${name} must be a whole number, 0 or more`);
  }
  return value as number;
};

export const number: Reader<number> = (value, name) => {
  if (typeof value !== "number") throw invalidRequest(`${name} must be a number`);
  return value;
};

export const listOf =
  <Item>(read: Reader<Item>): Reader<readonly Item[]> =>
  (value, name) => {
    if (!Array.isArray(value)) throw invalidRequest(`${name} must be a list`);
    return value.map((item: JsonValue, index) => read(item, `${name}[${index}]`));
  };
