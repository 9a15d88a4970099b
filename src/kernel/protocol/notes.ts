/**
 * NOTES: what a model asks to be remembered, as a patch to the checkpoint state (S-2). A block is read whole or not at
 * all, and of two blocks neither counts. Keys outside S-2.2 are ignored and listed. A problem names one of our rules or
 * keys, never the content.
 */
import { isJsonObject, type JsonObject, readJson } from "./read-json.ts";
import type { ScannedBlocks } from "./scan-blocks.ts";

export interface NotesPatch {
  /** Null leaves the goals as they are; an empty list clears them. */
  readonly setGoals: readonly string[] | null;
  readonly addOpenLoops: readonly string[];
  readonly closeOpenLoops: readonly string[];
  readonly addDecisions: readonly string[];
  readonly addConstraints: readonly string[];
  readonly setEpisodeSummary: string | null;
  readonly addMemoryTags: readonly string[];
  readonly actions: readonly string[];
}

export type Notes =
  | { readonly status: "parsed"; readonly patch: NotesPatch; readonly unknownKeys: readonly string[] }
  | { readonly status: "malformed"; readonly problem: string };

const LIST_KEYS = [
  "set_goals",
  "add_open_loops",
  "close_open_loops",
  "add_decisions",
  "add_constraints",
  "add_memory_tags",
  "actions",
] as const;
const SUMMARY_KEY = "set_episode_summary";
const KEYS: readonly string[] = [...LIST_KEYS, SUMMARY_KEY];

export function readNotes(blocks: ScannedBlocks): Notes | null {
  if (blocks.strayNotes) return malformed("a marker without its partner");
  const [block, ...others] = blocks.notes;
  if (block === undefined) return null;
  return others.length > 0 ? malformed("more than one block") : parseNotes(block);
}

function parseNotes(block: string): Notes {
  const reading = readJson(block);
  if (!reading.ok) return malformed(reading.failure);
  if (!isJsonObject(reading.value)) return malformed("not an object");
  const notes = reading.value;
  for (const key of LIST_KEYS) {
    const list = notes[key];
    if (list !== undefined && !isStringList(list)) return malformed(`${key}: not a list of strings`);
  }
  const summary = notes[SUMMARY_KEY];
  if (summary !== undefined && typeof summary !== "string") return malformed(`${SUMMARY_KEY}: not a string`);
  const patch: NotesPatch = {
    setGoals: listAt(notes, "set_goals"),
    addOpenLoops: listAt(notes, "add_open_loops") ?? [],
    closeOpenLoops: listAt(notes, "close_open_loops") ?? [],
    addDecisions: listAt(notes, "add_decisions") ?? [],
    addConstraints: listAt(notes, "add_constraints") ?? [],
    setEpisodeSummary: summary ?? null,
    addMemoryTags: listAt(notes, "add_memory_tags") ?? [],
    actions: listAt(notes, "actions") ?? [],
  };
  return { status: "parsed", patch, unknownKeys: Object.keys(notes).filter((key) => !KEYS.includes(key)) };
}

/** The list under a key, whose shape was checked; null when it is absent. */
function listAt(notes: JsonObject, key: (typeof LIST_KEYS)[number]): readonly string[] | null {
  return (notes[key] as readonly string[] | undefined) ?? null;
}

function isStringList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function malformed(problem: string): Notes {
  return { status: "malformed", problem };
}
