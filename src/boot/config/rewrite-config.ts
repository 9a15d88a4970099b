/**
 * A config text that says something else: what GET showed comes back changed, and the file keeps its comments.
 *
 * R1. Only values that differ are edited, so a default that is sent back as it was is not written down.
 * R2. The new text is read as any config: it takes effect whole or not at all, and means exactly what was asked for.
 */
import { isDeepStrictEqual } from "node:util";
import type { Config } from "./config.ts";
import { differences, type Fields, isObject, own } from "./config-changes.ts";
import { type ConfigPath, valueAt } from "./config-path.ts";
import type { ConfigProblem } from "./config-problem.ts";
import { editConfig, removeFromConfig } from "./edit-config.ts";
import { readConfig } from "./read-config.ts";

export const EMPTY_CONFIG = "{\n}\n";

type Rewritten =
  | { readonly ok: true; readonly text: string; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** `document`: all of it, where `before` is what the text means now. */
export function rewriteConfig(text: string, before: Config, document: unknown, file: string): Rewritten {
  const written = JSON.stringify(document);
  const wanted = readConfig(written, file);
  if (!wanted.ok) return wanted;
  // What came in a request has objects without a prototype, which are compared as others than those of a file.
  const plain: unknown = JSON.parse(written);
  const changed = differences(before, wanted.config).map(({ path }) => path);
  // Where a list or record has a default, a part of it cannot be written alone: then all of it is.
  for (let cut = 0; ; cut += 1) {
    const places = changed.map((path) => path.slice(0, Math.max(path.length - cut, 0)));
    const edited = places.some((path) => path.length === 0)
      ? null
      : places.reduce((before, path) => edit(before, path, valueAt(plain, path)), text);
    const after = edited === null ? `${JSON.stringify(document, null, 2)}\n` : edited;
    const read = readConfig(after, file);
    if (!read.ok) return read;
    if (edited === null || isDeepStrictEqual(read.config, wanted.config))
      return { ok: true, text: after, config: read.config };
  }
}

function edit(text: string, path: ConfigPath, value: unknown): string {
  if (value === undefined) return removeFromConfig(text, path) ?? text;
  return editConfig(text, path, value) ?? text;
}

/** RFC 7396. Keys that only look inherited stay keys, for the validator to refuse. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const fields: Fields = isObject(target) ? target : {};
  const kept = Object.entries(fields).filter(([key]) => own(patch, key) === undefined);
  const set = Object.entries(patch).filter(([, value]) => value !== null);
  return Object.fromEntries([...kept, ...set.map(([key, value]) => [key, mergePatch(own(fields, key), value)])]);
}
