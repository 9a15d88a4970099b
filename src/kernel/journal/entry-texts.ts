/**
 * What an entry decided, and what came of it, in canonical JSON of the wire form: the two parts of a line that have a
 * schema for each kind. Writers are made when a kind is first met, so that no start waits for them.
 */
import { canonicalWire } from "../vocabulary/wire-case.ts";
import { type WireWriter, wireWriter } from "../vocabulary/wire-writer.ts";
import { type DecidedOf, DecidedSchemas, type EntryKind, type Result, ResultSchemas } from "./entry.ts";

const ofDecisions = new Map<string, WireWriter>();
const ofResults = new Map<string, WireWriter>();

export function decidedText<K extends EntryKind>(kind: K, decided: DecidedOf<K>): string {
  return (ofDecisions.get(kind) ?? make(ofDecisions, DecidedSchemas, kind))(decided);
}

export function resultText(result: NonNullable<Result>): string {
  return (ofResults.get(result.type) ?? make(ofResults, ResultSchemas, result.type))(result);
}

function make(made: Map<string, WireWriter>, schemas: Readonly<Record<string, object>>, name: string): WireWriter {
  // A name that nobody knows is a defect, which ends the run: it must not be the end of writing.
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  const writer = schema === undefined ? canonicalWire : wireWriter(schema);
  made.set(name, writer);
  return writer;
}
