import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NOTES_BEGIN, NOTES_END } from "../../../src/kernel/protocol/markers.ts";
import { type Notes, type NotesPatch, readNotes } from "../../../src/kernel/protocol/notes.ts";
import { scanBlocks } from "../../../src/kernel/protocol/scan-blocks.ts";
import { verifies } from "../../requirements.ts";
import { notesBlock } from "./raw-output.ts";

const EMPTY_PATCH: NotesPatch = {
  setGoals: null,
  addOpenLoops: [],
  closeOpenLoops: [],
  addDecisions: [],
  addConstraints: [],
  setEpisodeSummary: null,
  addMemoryTags: [],
  actions: [],
};
const read = (content: string): Notes | null => readNotes(scanBlocks(content));
const inBlock = (json: string): Notes | null => read(`a${notesBlock(json)}b`);

describe("readNotes", () => {
  verifies("S-2.2", "reads every key of the patch", () => {
    const patch = {
      set_goals: ["g"],
      add_open_loops: ["o1", "o2"],
      close_open_loops: ["c"],
      add_decisions: ["d"],
      add_constraints: ["k"],
      set_episode_summary: "s",
      add_memory_tags: ["t"],
      actions: ["condense_now", "request_permission:net:huggingface.co"],
    };
    expect(inBlock(` ${JSON.stringify(patch)}\n`)).toEqual({
      status: "parsed",
      patch: {
        setGoals: ["g"],
        addOpenLoops: ["o1", "o2"],
        closeOpenLoops: ["c"],
        addDecisions: ["d"],
        addConstraints: ["k"],
        setEpisodeSummary: "s",
        addMemoryTags: ["t"],
        actions: ["condense_now", "request_permission:net:huggingface.co"],
      },
      unknownKeys: [],
    });
  });

  test("no block is no notes, an empty one an empty patch", () => {
    expect(read("text")).toBeNull();
    expect(inBlock("{}")).toEqual({ status: "parsed", patch: EMPTY_PATCH, unknownKeys: [] });
  });

  test("an empty list or summary is not an absent one", () => {
    expect(inBlock('{"set_goals":[],"set_episode_summary":""}')).toEqual({
      status: "parsed",
      patch: { ...EMPTY_PATCH, setGoals: [], setEpisodeSummary: "" },
      unknownKeys: [],
    });
  });

  verifies("S-2.4", "ignores and lists keys that are none of the patch's", () => {
    expect(
      inBlock(
        '{"capabilities_granted":["net"],"__proto__":{"actions":["x"]},"setGoals":["y"],"constructor":1,"memory_refs":[]}',
      ),
    ).toEqual({
      status: "parsed",
      patch: EMPTY_PATCH,
      unknownKeys: ["capabilities_granted", "__proto__", "setGoals", "constructor", "memory_refs"],
    });
  });

  const lists = [
    "set_goals",
    "add_open_loops",
    "close_open_loops",
    "add_decisions",
    "add_constraints",
    "add_memory_tags",
    "actions",
  ];
  verifies("S-1.1/strings", "each list takes a list of strings and nothing else", () => {
    for (const key of lists)
      for (const value of ['"x"', "null", "{}", "1", "[1]", '["a",null]', '["a",["b"]]', '{"0":"a","length":1}']) {
        expect(inBlock(`{"set_episode_summary":"s","${key}":${value}}`)).toEqual({
          status: "malformed",
          problem: `${key}: not a list of strings`,
        });
      }
  });

  test.each(["null", "[]", '["s"]', "1", "{}"])("set_episode_summary takes a string, not %s", (value) => {
    expect(inBlock(`{"set_episode_summary":${value}}`)).toEqual({
      status: "malformed",
      problem: "set_episode_summary: not a string",
    });
  });

  test.each([
    ["no JSON", notesBlock("goals: x"), "protocol.invalid-json"],
    ["no content", notesBlock(""), "protocol.invalid-json"],
    ["a duplicate key", notesBlock('{"actions":[],"actions":["grant_permission:net"]}'), "protocol.duplicate-key"],
    ["text after the object", notesBlock("{} and"), "protocol.trailing-garbage"],
    ["an array", notesBlock("[]"), "not an object"],
    ["null", notesBlock("null"), "not an object"],
    ["two blocks", notesBlock("{}") + notesBlock("{}"), "more than one block"],
    ["three blocks", notesBlock("{}").repeat(3), "more than one block"],
    ["no end", `${NOTES_BEGIN}{}`, "a marker without its partner"],
    ["no begin", `{}${NOTES_END}`, "a marker without its partner"],
    ["a good block and a stray marker", `${notesBlock("{}")}${NOTES_END}`, "a marker without its partner"],
  ])("%s is malformed", (_, content, problem) => {
    expect(read(content)).toEqual({ status: "malformed", problem });
  });

  verifies(
    "S-2.5",
    "whatever stands in the block, a problem never quotes it and the text around it is untouched",
    () => {
      fc.assert(
        fc.property(fc.oneof(fc.json(), fc.string()), (inside) => {
          const secret = `"SECRET${inside.replaceAll("<", "")}`;
          const content = `a${notesBlock(secret)}b`;
          expect(scanBlocks(content).visibleText).toBe("ab");
          expect(JSON.stringify(read(content))).not.toContain("SECRET");
        }),
      );
    },
  );
});
