/** The settings that a JSON Schema of the configuration describes, one by one; and edits of them as a merge patch. */

/** How a setting is edited. `json`: what has parts of its own, such as the providers. */
export type LeafKind = "flag" | "choice" | "whole" | "number" | "text" | "list" | "json";

export interface Leaf {
  readonly path: readonly string[];
  /** As the gateway writes it: `gateway.queue.max`. */
  readonly name: string;
  readonly kind: LeafKind;
  readonly choices: readonly string[];
  /** What values may be, and what counts when nothing is set. */
  readonly hint: string;
}

/** What stands in a field: a text, lines of a list, or a flag. */
export type Written = string | boolean;

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
}

export function leavesOf(schema: object, path: readonly string[] = []): readonly Leaf[] {
  const { properties = {} } = schema as Schema;
  return Object.entries(properties).flatMap(([key, each]) => {
    const at = [...path, key];
    return each.type === "object" && each.properties !== undefined ? leavesOf(each, at) : [leafAt(at, each)];
  });
}

function leafAt(path: readonly string[], schema: Schema): Leaf {
  return { path, name: path.join("."), kind: kindOf(schema), choices: schema.enum ?? [], hint: hintOf(schema) };
}

function kindOf({ type, enum: choices, items, anyOf }: Schema): LeafKind {
  if (choices !== undefined) return "choice";
  if (anyOf?.[0]?.type === "string") return "text";
  if (type === "boolean") return "flag";
  if (type === "integer") return "whole";
  if (type === "number") return "number";
  if (type === "string") return "text";
  return type === "array" && items?.type === "string" ? "list" : "json";
}

function hintOf(schema: Schema): string {
  const { type, minimum, maximum, default: otherwise } = schema;
  const kind = kindOf(schema);
  const digits = (value: number): string => value.toLocaleString("en");
  const range =
    (type === "integer" || type === "number") && minimum !== undefined && maximum !== undefined
      ? `From ${digits(minimum)} to ${digits(maximum)}.`
      : "";
  const how = kind === "list" ? "One a line." : kind === "json" ? "As JSON." : "";
  const isPlain = ["string", "number", "boolean"].includes(typeof otherwise) && otherwise !== "";
  const fallback = isPlain && kind !== "flag" ? `Otherwise ${String(otherwise)}.` : "";
  return [range, how, fallback].filter((text) => text !== "").join(" ");
}

export function valueIn(document: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, step)
        ? (value as Readonly<Record<string, unknown>>)[step]
        : undefined,
    document,
  );
}

/** What its field shows. */
export function writtenOf(value: unknown, { kind }: Leaf): Written {
  if (kind === "flag") return value === true;
  if (value === undefined || value === null) return "";
  if (kind === "list" && Array.isArray(value)) return value.join("\n");
  if (typeof value === "object") return JSON.stringify(value, null, 2);
  return String(value);
}

/** What is in a field, as a value; null: not set. Throws a SyntaxError for what is no JSON. */
export function valueWritten(written: Written, { kind }: Leaf): unknown {
  if (typeof written === "boolean") return written;
  const text = written.trim();
  if (kind === "list") return text === "" ? [] : text.split("\n").map((line) => line.trim());
  if (text === "") return null;
  // What is no number goes as it is: the gateway says what is wrong with it.
  if (kind === "whole" || kind === "number") return Number.isNaN(Number(text)) ? text : Number(text);
  return kind === "json" || text.startsWith("{") ? JSON.parse(text) : written;
}

/** A JSON merge patch with these values at their paths. */
export function patchWith(
  document: unknown,
  values: readonly { readonly leaf: Leaf; readonly value: unknown }[],
): Readonly<Record<string, unknown>> {
  const patch: Record<string, unknown> = {};
  for (const { leaf, value } of values) {
    const last = leaf.path.at(-1) ?? "";
    let at = patch;
    for (const step of leaf.path.slice(0, -1)) {
      at[step] ??= {};
      at = at[step] as Record<string, unknown>;
    }
    at[last] = mergeDifference(valueIn(document, leaf.path), value);
  }
  return patch;
}

/** What has to be merged into one value to get the other: keys that are gone are null. */
function mergeDifference(before: unknown, after: unknown): unknown {
  if (!isRecord(before) || !isRecord(after)) return after;
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  return Object.fromEntries([
    ...gone.map((key) => [key, null]),
    ...Object.entries(after).map(([key, value]) => [key, mergeDifference(before[key], value)]),
  ]);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
