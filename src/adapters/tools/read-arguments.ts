/**
 * The arguments of a proposed call, as the tool will have them: mapped from an alias, checked, defaults filled in.
 *
 * A1. What is refused is refused with the field's name and what the schema wants, never with the value.
 * A2. Nothing is coerced: a number in a string is a string.
 * A3. Refused as well, wherever they stand: numbers beyond 2^53 - 1, lone surrogates, keys nobody described
 *     (`__proto__` among them) and holes that redaction left, which nobody can fill again.
 * A4. A schema is compiled once, when its tool is first called.
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

/** Under the name of this alias, or null for the tool's own. */
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

/** With the defaults filled in, nothing is optional any more. To check for exactly these names is soonest done. */
function schemaOfAll({ parameters }: Tool): TSchema {
  return { ...parameters, required: Object.keys(parameters.properties) };
}

function isObject(value: unknown): value is Arguments {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuseUnsafe(tool: Tool, name: string, value: JsonValue): void {
  // A name of ours is safe: it would not have passed `lint-tool.ts` otherwise.
  const isOurs = Object.hasOwn(tool.parameters.properties, name);
  const problem = (isOurs ? null : jsonProblem(name, MAX_DEPTH)) ?? jsonProblem(value, MAX_DEPTH);
  if (problem !== null) throw invalid(tool, `${shownName(name)} holds ${problem}`);
  if ((!isOurs && hasRedactionHole(name)) || hasRedactionHole(value)) {
    throw invalid(
      tool,
      `${shownName(name)} holds a [REDACTED:…] mark in place of a secret that was never kept: leave that part out`,
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
      throw invalid(tool, `${shownName(theirs)} can only be ${JSON.stringify(ignore[theirs])} here`);
    }
    const ours = (Object.hasOwn(rename, theirs) ? rename[theirs] : undefined) ?? theirs;
    if (mapped.has(ours)) throw invalid(tool, `${shownName(theirs)} and ${ours} mean the same: give one of them`);
    mapped.set(ours, value);
  }
  return [...mapped];
}

function knownOf(tool: Tool, entries: readonly (readonly [string, JsonValue])[]): Record<string, JsonValue> {
  const args: Record<string, JsonValue> = {};
  for (const [name, value] of entries) {
    // Asked here as well as of the schema: assigning `__proto__` would not even make a key.
    if (!Object.hasOwn(tool.parameters.properties, name)) throw invalid(tool, unknownField(tool, name));
    args[name] = value;
  }
  return args;
}

function unknownField(tool: Tool, name: string): string {
  const known = Object.keys(tool.parameters.properties);
  return `it takes no ${shownName(name)}, only ${known.join(", ")}`;
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
