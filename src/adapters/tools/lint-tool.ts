/**
 * The rules a tool must meet to be registered (P-3.1): a schema that every provider and grammar can enforce, and a
 * default for every optional parameter, so that a planned call states all it depends on. A broken rule is a Defect at
 * start-up: our own source is wrong, not the model.
 */
import { unsupportedKeyword } from "../../kernel/protocol/grammar/grammar-subset.ts";
import { isToolName } from "../../kernel/protocol/tool-names.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { Tool, ToolAlias } from "./define-tool.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Descriptions are part of every prompt, so they must stay short. */
const MAX_DESCRIPTION_CHARS = 300;
const PROPERTY_NAME = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

export function lintTool(tool: Tool): void {
  if (!isToolName(tool.name)) refuse(tool, `its name is not a tool name: ${JSON.stringify(tool.name)}`);
  if (tool.description.length === 0 || tool.description.length > MAX_DESCRIPTION_CHARS) {
    refuse(tool, `its description has ${tool.description.length} characters, not 1 to ${MAX_DESCRIPTION_CHARS}`);
  }
  const { timeoutMs = 1 } = tool;
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1) refuse(tool, `a timeout of ${timeoutMs} ms`);
  const parameters: Schema = { ...tool.parameters };
  if (parameters["type"] !== "object") refuse(tool, "its parameters are not an object");
  lintSchema(tool, "parameters", parameters);
  const unsupported = unsupportedKeyword(parameters, "parameters");
  if (unsupported !== null) refuse(tool, `no grammar can enforce ${unsupported}`);
  lintDefaults(tool, parameters);
  for (const alias of tool.aliases) lintAlias(tool, alias);
}

function lintSchema(tool: Tool, path: string, schema: unknown): void {
  if (!isSchema(schema)) refuse(tool, `${path} is not a schema`);
  const members = ["anyOf", "oneOf", "allOf"].flatMap((keyword) => listOf(schema[keyword]));
  if (members.length > 0 && members.every((member) => isSchema(member) && ("const" in member || "enum" in member))) {
    refuse(tool, `${path} is a union of fixed values: use Type.Enum`);
  }
  if (members.length === 0 && !["type", "enum", "const"].some((keyword) => keyword in schema)) {
    refuse(tool, `${path} says nothing about its value`);
  }
  for (const [index, member] of members.entries()) lintSchema(tool, `${path}/${index}`, member);
  const types = [schema["type"]].flat();
  if (types.includes("object")) lintObject(tool, path, schema);
  if (types.includes("array")) lintSchema(tool, `${path}/items`, schema["items"]);
}

function lintObject(tool: Tool, path: string, schema: Schema): void {
  if (schema["additionalProperties"] !== false || "patternProperties" in schema) {
    refuse(tool, `${path} is an open object: set additionalProperties: false`);
  }
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    if (name === "format") refuse(tool, `${path} has a property called format, which schema readers misread`);
    if (!PROPERTY_NAME.test(name)) refuse(tool, `${path} has a property not in snake_case: ${JSON.stringify(name)}`);
    lintSchema(tool, `${path}/${name}`, property);
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
  if (!isToolName(name)) refuse(tool, `its alias is not a tool name: ${JSON.stringify(name)}`);
  const properties = propertiesOf({ ...tool.parameters });
  for (const ours of Object.values(rename)) {
    if (!Object.hasOwn(properties, ours)) refuse(tool, `alias ${name} maps to ${ours}, which is not a parameter`);
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
