/**
 * Parses the text of a path into names beneath the workspace (S-4.2).
 *
 * The text is taken literally: `%2e`, `．．` and `$HOME` are ordinary names. `..` is resolved on the text and may not
 * leave the workspace; absolute paths and `~` are refused. The rules are the same on every system and the strictest: a
 * workspace travels, so a name that means a device, a stream or a drive on Windows is refused on Linux too. Invisible
 * characters are refused as in a command (`invisible-characters.ts`), which excludes some emoji. Every accepted name is
 * one entry of one directory: never empty, `.` or `..`, and without a separator.
 */
import { ToolFailure } from "../tool-failure.ts";
import { firstInvisible } from "./invisible-characters.ts";

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
const MAX_DEPTH = 64;

/** With any extension, in any case; Windows reads COM¹ as COM1. */
const DEVICE_NAME = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)/i;

interface FileNames {
  readonly names: readonly string[];
  readonly parents: readonly string[];
  readonly name: string;
  readonly shown: string;
}

export function fileNames(path: string): FileNames {
  const names = directoryNames(path);
  const name = names.at(-1);
  // A path that ends with a slash or a dot means a directory. No name ends with either.
  if (name === undefined || !path.endsWith(name)) throw invalid(path, "names a directory: name a file");
  return { names, parents: names.slice(0, -1), name, shown: names.join("/") };
}

/** Empty for the workspace itself. */
export function directoryNames(path: string): readonly string[] {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw invalid(path, `is longer than ${MAX_PATH_BYTES} bytes`);
  if (firstInvisible(path) !== undefined) throw invalid(path, "contains control or invisible characters");
  if (path.startsWith("/")) throw outside(path, "is absolute: make it relative to the workspace");
  if (path.startsWith("~"))
    throw outside(path, "starts with ~, which is not expanded: make it relative to the workspace");
  const names = resolveDots(path);
  if (names.length > MAX_DEPTH) throw invalid(path, `is deeper than ${MAX_DEPTH} directories`);
  for (const name of names) checkName(path, name);
  return names;
}

function resolveDots(path: string): readonly string[] {
  const names: string[] = [];
  // Windows separates with backslashes. They are refused below, but a path that climbs out with them is denied for that.
  for (const name of path.split(/[/\\]/)) {
    if (name === ".." && names.pop() === undefined) throw outside(path, "leads out of the workspace");
    if (name !== "" && name !== "." && name !== "..") names.push(name);
  }
  if (path.includes("\\")) throw invalid(path, "contains a backslash: separate names with /");
  return names;
}

function checkName(path: string, name: string): void {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw invalid(path, `has a name longer than ${MAX_NAME_BYTES} bytes`);
  if (name.includes(":")) throw invalid(path, "has a colon in a name, which means a drive or a stream on Windows");
  if (/[. ]$/.test(name)) throw invalid(path, "has a name that ends with a dot or a space");
  if (DEVICE_NAME.test(name)) throw invalid(path, "has a name that means a device on Windows");
}

function invalid(path: string, problem: string): ToolFailure {
  return new ToolFailure("tool.input_invalid", `The path ${problem}.`, { details: { path: shortened(path) } });
}

function outside(path: string, problem: string): ToolFailure {
  return new ToolFailure("policy.denied", `The path ${problem}.`, { details: { path: shortened(path) } });
}

function shortened(path: string): string {
  return path.length <= 256 ? path : `${path.slice(0, 256).toWellFormed()}…`;
}
