/**
 * Reads the arguments of a proposed call: maps an alias, checks them, fills in defaults. A refusal names the field and
 * what the schema wants, never the value. Nothing is coerced. Refused at any depth: numbers beyond 2^53 - 1, lone
 * surrogates, unknown keys (`__proto__` among them) and redaction marks whose secret is gone.
 */
import type { TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { jsonEquals } from "../../kernel/policy/json-equals.ts";
import { hasRedactionHole } from "../../kernel/redaction/redaction-marker.ts";
import { jsonProblem } from "../../kernel/vocabulary/json-problem.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { Arguments } from "../../runtime/ports/toolbox.ts";
import type { Tool, ToolAlias } from "./define-tool.ts";
import { ToolFailure } from "./tool-failure.ts";

const MAX_DEPTH = 32;
const MAX_SHOWN_NAME_CHARS = 48;

/** `alias` is null for the tool's own name. */
export type ArgumentsReader = (given: unknown, alias: ToolAlias | null) => Arguments;

export function argumentsReader(tool: Tool): ArgumentsReader {
  const defaults = defaultsOf(tool);
  let validator: Validator | null = null;
  return (given, alias) => {
    if (!isObject(given)) throw invalid(tool, "the arguments must be an object");
    const entries = Object.entries(given);
    for (const [name, value] of entries) refuseUnsafe(tool, name, value);
    const args = knownOf(tool, alias === null ? entries : mapAlias(tool, alias, entries));
    for (const [name, value] of defaults) if (!Object.hasOwn(args, name)) args[name] = value;
    validator ??= Compile(schemaOfAll(tool));
    if (!validator.Check(args)) throw invalid(tool, describeProblem(tool, validator, args));
    return args;
  };
}

function defaultsOf({ parameters }: Tool): readonly (readonly [string, JsonValue])[] {
  const properties: Readonly<Record<string, object>> = parameters.properties;
  return Object.entries(properties).flatMap(([name, property]) =>
    "default" in property ? [[name, property.default as JsonValue] as const] : [],
  );
}

/** Defaults are filled in first, so every name is required. */
function schemaOfAll({ parameters }: Tool): TSchema {
  return { ...parameters, required: Object.keys(parameters.properties) };
}

function isObject(value: unknown): value is Arguments {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuseUnsafe(tool: Tool, name: string, value: JsonValue): void {
  // Our own names are safe: `lint-tool.ts` checked them.
  const isOurs = Object.hasOwn(tool.parameters.properties, name);
  const problem = (isOurs ? null : jsonProblem(name, MAX_DEPTH)) ?? jsonProblem(value, MAX_DEPTH);
  if (problem !== null) throw invalid(tool, `${shownName(name)} contains ${problem}`);
  if ((!isOurs && hasRedactionHole(name)) || hasRedactionHole(value)) {
    throw invalid(
      tool,
      `${shownName(name)} contains a [REDACTED:…] mark for a secret that was not stored: leave that part out`,
    );
  }
}

function mapAlias(
  tool: Tool,
  { rename = {}, ignore = {} }: ToolAlias,
  entries: readonly (readonly [string, JsonValue])[],
): readonly (readonly [string, JsonValue])[] {
  const mapped = new Map<string, JsonValue>();
  for (const [theirs, value] of entries) {
    if (Object.hasOwn(ignore, theirs)) {
      if (jsonEquals(value, ignore[theirs])) continue;
      throw invalid(tool, `${shownName(theirs)} must be ${JSON.stringify(ignore[theirs])}`);
    }
    const ours = (Object.hasOwn(rename, theirs) ? rename[theirs] : undefined) ?? theirs;
    if (mapped.has(ours)) throw invalid(tool, `${shownName(theirs)} and ${ours} mean the same: set one of them`);
    mapped.set(ours, value);
  }
  return [...mapped];
}

function knownOf(tool: Tool, entries: readonly (readonly [string, JsonValue])[]): Record<string, JsonValue> {
  const args: Record<string, JsonValue> = {};
  for (const [name, value] of entries) {
    // Checked before the schema: assigning `__proto__` would not create a key.
    if (!Object.hasOwn(tool.parameters.properties, name)) throw invalid(tool, unknownField(tool, name));
    args[name] = value;
  }
  return args;
}

function unknownField(tool: Tool, name: string): string {
  const known = Object.keys(tool.parameters.properties);
  return `unknown argument ${shownName(name)}; it takes ${known.join(", ")}`;
}

function describeProblem(tool: Tool, validator: Validator, args: Arguments): string {
  const missing = Object.keys(tool.parameters.properties).find((name) => !Object.hasOwn(args, name));
  if (missing !== undefined) return `${missing} is missing`;
  const error = validator.Errors(args).find(({ keyword }) => keyword !== "boolean");
  if (error === undefined) return "the arguments do not fit its parameters";
  return `${error.instancePath.slice(1) || "the arguments"} ${error.message}`;
}

function shownName(name: string): string {
  return JSON.stringify(name.toWellFormed().slice(0, MAX_SHOWN_NAME_CHARS).toWellFormed());
}

function invalid(tool: Tool, problem: string): ToolFailure {
  return new ToolFailure("tool.input_invalid", `${tool.name}: ${problem}.`);
}
