/**
 * Sets or removes one value in a config text and leaves everything else, comments and order included, as it was written.
 *
 * E1. The new text is parsed and compared: only that value may have changed.
 * E2. Missing objects on the path are created; lists are replaced whole.
 */
import { isDeepStrictEqual } from "node:util";
import JSON5 from "json5";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { ConfigPath } from "./config-path.ts";
import { type Outline, outlineOf, skipTrivia } from "./json5-outline.ts";

type Settings = Readonly<Record<string, unknown>>;

const STEP_INDENT = "  ";

/** Null when the path leads through a value that is not an object. The text must be valid JSON5 with an object at its root. */
export function editConfig(text: string, path: ConfigPath, value: unknown): string | null {
  const edited = editAt(text, outlineOf(text), path, value, STEP_INDENT);
  if (edited === null) return null;
  if (!isDeepStrictEqual(JSON5.parse(edited), withValue(JSON5.parse<Settings>(text), path, value))) {
    throw new Defect("edit config: more changed than was asked for");
  }
  return edited;
}

/** Null when nothing is written there, or the path leads through a list. */
export function removeFromConfig(text: string, path: ConfigPath): string | null {
  // Of a repeated key the last value counts, so the earlier ones go as well.
  const written = membersAt(outlineOf(text), path);
  if (written.length === 0) return null;
  const edited = written.reduceRight((left, { keyStart, value }) => cut(left, keyStart, value.end), text);
  if (!isDeepStrictEqual(JSON5.parse(edited), withoutValue(JSON5.parse<Settings>(text), path))) {
    throw new Defect("edit config: more was removed than was asked for");
  }
  return edited;
}

function membersAt({ kind, members }: Outline, [step, ...rest]: ConfigPath): Outline["members"] {
  if (kind !== "object" || step === undefined) return [];
  const named = members.filter(({ key }) => key === step);
  const last = named.at(-1);
  if (last === undefined) return [];
  return rest.length === 0 ? named : membersAt(last.value, rest);
}

/** With the comma after it, and with its lines if nothing else is on them. */
function cut(text: string, start: number, valueEnd: number): string {
  const commaAt = skipTrivia(text, valueEnd);
  const hasComma = text.charAt(commaAt) === ",";
  // A comment between value and comma stays.
  const kept = hasComma ? text.slice(valueEnd, commaAt) : "";
  const head = text.slice(0, start) + kept;
  const tail = text.slice(hasComma ? commaAt + 1 : valueEnd);
  const lineStart = head.lastIndexOf("\n") + 1;
  const lineEnd = /^[ \t]*\r?\n/.exec(tail)?.[0].length;
  const ownsLine = lineStart > 0 && lineEnd !== undefined && head.slice(lineStart).trim() === "";
  return ownsLine
    ? head.slice(0, lineStart) + tail.slice(lineEnd)
    : head + tail.replace(/^[ \t]+/, /[\s{]$/.test(head) ? "" : " ");
}

function editAt(text: string, outline: Outline, path: ConfigPath, value: unknown, indent: string): string | null {
  const [step, ...rest] = path;
  if (outline.kind !== "object" || step === undefined) return null;
  const member = outline.members.findLast(({ key }) => key === step);
  if (member === undefined)
    return insert(text, outline, `${keyText(step)}: ${print(nest(rest, value), indent)}`, indent);
  if (rest.length > 0) return editAt(text, member.value, rest, value, indent + STEP_INDENT);
  return text.slice(0, member.value.start) + print(value, indent) + text.slice(member.value.end);
}

/** Adds the last member, on its own line if the closing brace has one. */
function insert(text: string, { members, end }: Outline, member: string, indent: string): string {
  const brace = end - 1;
  const last = members.at(-1)?.value.end;
  const needsComma = last !== undefined && text.charAt(skipTrivia(text, last)) !== ",";
  const head = needsComma ? `${text.slice(0, last)},${text.slice(last, brace)}` : text.slice(0, brace);
  const lineStart = head.lastIndexOf("\n") + 1;
  const ownsLine = lineStart > 0 && head.slice(lineStart).trim() === "";
  if (ownsLine) return `${head.slice(0, lineStart)}${indent}${member},\n${head.slice(lineStart)}${text.slice(brace)}`;
  return `${head.replace(/[ \t]+$/, "")} ${member} ${text.slice(brace)}`;
}

function nest(path: ConfigPath, value: unknown): unknown {
  return path.reduceRight((inner, step) => ({ [step]: inner }), value);
}

function withValue(settings: Settings, [step = "", ...rest]: ConfigPath, value: unknown): Settings {
  const inner = Object.hasOwn(settings, step) ? settings[step] : {};
  return { ...settings, [step]: rest.length === 0 ? value : withValue(inner as Settings, rest, value) };
}

function withoutValue(settings: Settings, [step = "", ...rest]: ConfigPath): Settings {
  if (rest.length > 0) return { ...settings, [step]: withoutValue(settings[step] as Settings, rest) };
  return Object.fromEntries(Object.entries(settings).filter(([key]) => key !== step));
}

function keyText(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}

/** Lines after the first are indented as deep as the member itself. */
function print(value: unknown, indent: string): string {
  return JSON5.stringify(value, { space: 2, quote: '"' }).replaceAll("\n", `\n${indent}`);
}
