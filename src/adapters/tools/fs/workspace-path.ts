/**
 * From the text of a path to the names of the entries it leads through, beneath the workspace (S-4.2).
 *
 * W1. It is read as text: nothing is decoded, normalised or expanded. `%2e`, `．．` and `$HOME` are ordinary names.
 * W2. `..` is worked out on the text and may not leave the workspace; an absolute path and `~` always would.
 * W3. The rules are the same on every system, the strictest: a workspace travels, and a name that means a device, a
 *     stream or a drive on Windows is refused on Linux too. So is what an approver could not see, as in a command
 *     (`unseen-characters.ts`); names that are joined by invisible characters, some emoji among them, have to go for it.
 * W4. Of what passes, every name is one entry of one directory: never empty, `.` or `..`, and without a separator.
 * W5. A path of plain names is known for one at a glance; a glance never passes what the rules would not.
 */
import { ToolFailure } from "../tool-failure.ts";
import { firstUnseen } from "./unseen-characters.ts";

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
const MAX_DEPTH = 64;

/** What most paths are: names of letters, digits and the like, none of them a device. No rule has anything against it. */
const PLAIN_NAME = String.raw`(?!(?:con|prn|aux|nul|(?:com|lpt)[0-9])(?:[./]|$))[\w-](?:[\w.-]*[\w-])?`;
const PLAIN_PATH = new RegExp(`^(?:${PLAIN_NAME}/){0,${MAX_DEPTH - 1}}${PLAIN_NAME}$`, "i");

/** With any extension, in any case; COM¹ is COM1 there. */
const DEVICE_NAME = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)/i;

interface FileNames {
  /** All of them: of the directories on the way, and the file's own. */
  readonly names: readonly string[];
  readonly parents: readonly string[];
  readonly name: string;
  /** The names again, as one text. */
  readonly shown: string;
}

/** The names from the workspace down to a directory; none for the workspace itself. */
export function directoryNames(path: string): readonly string[] {
  const isPlain = path.length <= MAX_NAME_BYTES && PLAIN_PATH.test(path);
  if (!isPlain) return namesByTheRules(path);
  return path.includes("/") ? path.split("/") : [path];
}

export function fileNames(path: string): FileNames {
  const names = directoryNames(path);
  if (names[0] === path) return { names, parents: [], name: path, shown: path };
  const name = names.at(-1);
  // Written with a slash, or a dot, at its end it can only be meant as a directory. No name ends with either.
  if (name === undefined || !path.endsWith(name)) throw invalid(path, "names a directory: name a file");
  return { names, parents: names.slice(0, -1), name, shown: names.join("/") };
}

function namesByTheRules(path: string): readonly string[] {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw invalid(path, `is longer than ${MAX_PATH_BYTES} bytes`);
  if (firstUnseen(path) !== undefined) throw invalid(path, "holds control characters or others that nobody sees");
  if (path.startsWith("/")) throw outside(path, "is absolute: give it relative to the workspace");
  if (path.startsWith("~"))
    throw outside(path, "starts with ~, which is not expanded: give it relative to the workspace");
  const names = resolveDots(path);
  if (names.length > MAX_DEPTH) throw invalid(path, `goes deeper than ${MAX_DEPTH} directories`);
  for (const name of names) checkName(path, name);
  return names;
}

function resolveDots(path: string): readonly string[] {
  const names: string[] = [];
  // A backslash separates elsewhere. It is refused below; what climbs out by it is denied for that.
  for (const name of path.split(/[/\\]/)) {
    if (name === ".." && names.pop() === undefined) throw outside(path, "leads out of the workspace");
    if (name !== "" && name !== "." && name !== "..") names.push(name);
  }
  if (path.includes("\\")) throw invalid(path, "holds a backslash: separate names with /");
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
