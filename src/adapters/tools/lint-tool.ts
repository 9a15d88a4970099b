/**
 * What a tool must look like to be registered (P-3.1): a schema every provider and grammar can hold a model to.
 *
 * L1. Parameters are one closed object, and so is every object within: an argument nobody described is refused.
 * L2. No union where an enum serves, no property called `format`, no schema that says nothing about its value.
 * L3. Optional parameters have a default and only they do, so that a planned call states all it depends on.
 * L4. An alias renames to parameters that exist.
 * L5. A tool that breaks a rule is a Defect: it is our own source that is wrong, at start-up, not the model.
 */
import { isToolName } from "../../kernel/protocol/tool-names.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { Tool, ToolAlias } from "./define-tool.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Every tool's description stands in every prompt, so all together must stay small. */
const MAX_DESCRIPTION_CHARS = 300;
const PROPERTY_NAME = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

export function lintTool(tool: Tool): void {
  if (!isToolName(tool.name)) refuse(tool, `its name is not one: ${JSON.stringify(tool.name)}`);
  if (tool.description.length === 0 || tool.description.length > MAX_DESCRIPTION_CHARS) {
    refuse(tool, `its description has ${tool.description.length} characters, not 1 to ${MAX_DESCRIPTION_CHARS}`);
  }
  if (!Number.isSafeInteger(tool.timeoutMs) || tool.timeoutMs < 1) refuse(tool, `a timeout of ${tool.timeoutMs} ms`);
  const parameters: Schema = { ...tool.parameters };
  if (parameters["type"] !== "object") refuse(tool, "its parameters are not an object");
  lintSchema(tool, "parameters", parameters);
  lintDefaults(tool, parameters);
  for (const alias of tool.aliases) lintAlias(tool, alias);
}

function lintSchema(tool: Tool, place: string, schema: unknown): void {
  if (!isSchema(schema)) refuse(tool, `${place} is not a schema`);
  const members = ["anyOf", "oneOf", "allOf"].flatMap((keyword) => listOf(schema[keyword]));
  if (members.length > 0 && members.every((member) => isSchema(member) && ("const" in member || "enum" in member))) {
    refuse(tool, `${place} is a union of fixed values: use Type.Enum`);
  }
  if (members.length === 0 && !["type", "enum", "const"].some((keyword) => keyword in schema)) {
    refuse(tool, `${place} says nothing about its value`);
  }
  for (const [index, member] of members.entries()) lintSchema(tool, `${place}/${index}`, member);
  const types = [schema["type"]].flat();
  if (types.includes("object")) lintObject(tool, place, schema);
  if (types.includes("array")) lintSchema(tool, `${place}/items`, schema["items"]);
}

function lintObject(tool: Tool, place: string, schema: Schema): void {
  if (schema["additionalProperties"] !== false || "patternProperties" in schema) {
    refuse(tool, `${place} is an open object: say additionalProperties: false`);
  }
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    if (name === "format") refuse(tool, `${place} has a property called format, which schema readers mistake`);
    if (!PROPERTY_NAME.test(name)) refuse(tool, `${place} has a property not in snake_case: ${JSON.stringify(name)}`);
    lintSchema(tool, `${place}/${name}`, property);
  }
}

function lintDefaults(tool: Tool, schema: Schema): void {
  const required = new Set(listOf(schema["required"]));
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    if (required.has(name) === (isSchema(property) && "default" in property)) {
      refuse(tool, `parameters/${name} must be required or have a default, not both and not neither`);
    }
  }
}

function lintAlias(tool: Tool, { name, rename = {}, ignore = {} }: ToolAlias): void {
  if (!isToolName(name)) refuse(tool, `its alias is no name: ${JSON.stringify(name)}`);
  const properties = propertiesOf({ ...tool.parameters });
  for (const ours of Object.values(rename)) {
    if (!Object.hasOwn(properties, ours)) refuse(tool, `alias ${name} maps to ${ours}, which is no parameter`);
  }
  for (const theirs of [...Object.keys(rename), ...Object.keys(ignore)]) {
    if (Object.hasOwn(properties, theirs)) refuse(tool, `alias ${name} hides the parameter ${theirs}`);
  }
}

function propertiesOf(schema: Schema): Schema {
  return isSchema(schema["properties"]) ? schema["properties"] : {};
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function refuse(tool: Tool, problem: string): never {
  throw new Defect(`tool ${tool.name} cannot be registered: ${problem}`);
}
