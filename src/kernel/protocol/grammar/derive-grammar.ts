/**
 * The grammar of an answer, derived from the tools that a contract allows (M-P5.2). It is what `grammar-json` reads:
 * `{"calls":[{"tool":…,"args":{…}}]}` or `{"text":…}`.
 *
 * G1. A function of names and schemas, in their order: same tools, same grammar.
 * G2. Every sentence is a whole answer: valid JSON, and every call fits its tool's schema. There is no space between tokens.
 * G3. One document has an entry for each constraint: `calls`, `calls-or-text` and `text`.
 * G4. All but strings is bounded, and strings are where their schema says so: an answer that goes on for ever is cut off at
 *     its limit and refused like any other that does not parse.
 */
import { Defect } from "../../vocabulary/defect.ts";
import { integerBetween, LARGEST } from "./integer-range.ts";

export interface ConstrainedTool {
  readonly name: string;
  /** JSON Schema of the arguments, within `grammar-subset.ts`. */
  readonly parameters: object;
}

export const GRAMMAR_ENTRIES = ["calls", "calls-or-text", "text"] as const;
/** What an answer may be. */
export type GrammarEntry = (typeof GRAMMAR_ENTRIES)[number];

/** Of one answer. */
export const MAX_CALLS = 8;
/** Where a schema gives no bound: a model that repeats itself must come to an end. */
const MAX_ITEMS = 64;
/** A longer bound would be as many rules. The tool checks it. */
const MAX_COUNTED_CHARS = 512;

const CHARACTER = String.raw`[ !#-\[\]-~\u00A0-\uD7FF\uE000-\U0010FFFF] | "\\" ["\\/bfnrt]`;
/** One that is no part of another: a mark may join the letter before it, and lengths count both as one. */
const PLAIN = String.raw`[!#-\[\]-~]`;

export function deriveGrammar(tools: readonly ConstrainedTool[]): string {
  const rules = new Rules();
  const calls = tools.map(({ name, parameters }) => {
    const args = rules.add(rules.of(parameters as Schema));
    return rules.add(`${literal(`{"tool":${JSON.stringify(name)},"args":`)} ${args} "}"`);
  });
  const text = `${literal('{"text":"')} plain char* ${literal('"}')}`;
  const list = calls.length === 0 ? null : `${literal('{"calls":[')} call ("," call){0,${MAX_CALLS - 1}} "]}"`;
  return [
    ...(list === null ? [] : [`calls ::= ${list}`, `call ::= ${calls.join(" | ")}`]),
    `calls-or-text ::= ${list === null ? "text" : "calls | text"}`,
    `text ::= ${text}`,
    `plain ::= ${PLAIN}`,
    `char ::= ${CHARACTER}`,
    ...rules.lines,
    "",
  ].join("\n");
}

type Schema = Readonly<Record<string, unknown>>;

class Rules {
  readonly lines: string[] = [];

  /** The rule's name. The same expression is one rule. */
  add(expression: string): string {
    const at = this.lines.findIndex((line) => line.endsWith(` ::= ${expression}`));
    if (at >= 0) return `r${at}`;
    this.lines.push(`r${this.lines.length} ::= ${expression}`);
    return `r${this.lines.length - 1}`;
  }

  of(schema: Schema): string {
    const union = schema["anyOf"] ?? schema["oneOf"];
    if (union !== undefined) return (union as readonly Schema[]).map((member) => this.add(this.of(member))).join(" | ");
    if ("const" in schema) return literal(JSON.stringify(schema["const"]));
    if ("enum" in schema)
      return (schema["enum"] as readonly unknown[]).map((each) => literal(JSON.stringify(each))).join(" | ");
    switch (schema["type"]) {
      case "string":
        return stringOf(schema);
      case "integer":
        return integerOf(schema);
      case "number":
        return numberOf(schema);
      case "boolean":
        return '"true" | "false"';
      case "null":
        return '"null"';
      case "array":
        return this.#arrayOf(schema);
      case "object":
        return this.#objectOf(schema);
      default:
        throw new Defect(`no grammar for the type ${String(schema["type"])}`);
    }
  }

  #arrayOf(schema: Schema): string {
    const least = numberAt(schema, "minItems", 0);
    const most = numberAt(schema, "maxItems", Math.max(least, MAX_ITEMS));
    const item = this.add(this.of(schema["items"] as Schema));
    if (most === 0) return '"[]"';
    const items = `${item} ("," ${item}){${Math.max(0, least - 1)},${most - 1}}`;
    return least === 0 ? `"[" (${items})? "]"` : `"[" ${items} "]"`;
  }

  /** Properties in the schema's order. `start` begins with none before it, `rest` with at least one. */
  #objectOf(schema: Schema): string {
    const required = new Set((schema["required"] ?? []) as readonly string[]);
    const properties = Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, Schema>>);
    const empty = this.add('""');
    let start = empty;
    let rest = empty;
    for (const [name, property] of properties.toReversed()) {
      const pair = `${literal(`${JSON.stringify(name)}:`)} ${this.add(this.of(property))} ${rest}`;
      const isRequired = required.has(name);
      start = this.add(isRequired ? pair : `${pair} | ${start}`);
      rest = this.add(isRequired ? `"," ${pair}` : `"," ${pair} | ${rest}`);
    }
    return `"{" ${start} "}"`;
  }
}

function stringOf(schema: Schema): string {
  const least = numberAt(schema, "minLength", 0);
  const most = numberAt(schema, "maxLength", Number.POSITIVE_INFINITY);
  const head = least === 0 ? "" : `plain{${least}} `;
  const tail = most > MAX_COUNTED_CHARS ? "char*" : `char{0,${most - least}}`;
  return `"\\"" ${head}${tail} "\\""`;
}

function integerOf(schema: Schema): string {
  const least = Math.max(numberAt(schema, "minimum", -LARGEST), numberAt(schema, "exclusiveMinimum", -LARGEST - 1) + 1);
  const most = Math.min(numberAt(schema, "maximum", LARGEST), numberAt(schema, "exclusiveMaximum", LARGEST + 1) - 1);
  return integerBetween(least, most);
}

const FRACTION = '("." [0-9]{1,6})?';

function numberOf(schema: Schema): string {
  if (schema["minimum"] === undefined) return `"-"? (${integerBetween(0, LARGEST)}) ${FRACTION}`;
  const least = numberAt(schema, "minimum", 0);
  const most = numberAt(schema, "maximum", LARGEST);
  const whole = `"${most}"`;
  return most === least ? whole : `(${integerBetween(least, most - 1)}) ${FRACTION} | ${whole}`;
}

function numberAt(schema: Schema, keyword: string, otherwise: number): number {
  const value = schema[keyword];
  return typeof value === "number" ? value : otherwise;
}

function literal(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}
