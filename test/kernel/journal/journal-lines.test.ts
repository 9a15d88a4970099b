import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import { parseLine, readJournal, toLine } from "../../../src/kernel/journal/journal-lines.ts";
import adversarial from "../../fixtures/adversarial.json" with { type: "json" };
import { verifies } from "../../requirements.ts";
import { anyDraft, CONTRACT, chainOf, fileOf, KINDS, SMALL_JOURNAL } from "./any-journal.ts";
import { encode } from "./tamper.ts";

const [created, commit, end] = SMALL_JOURNAL as [Entry, Entry, Entry];
const createdWire = JSON.parse(toLine(created)) as Record<string, unknown>;

/** The line of the first entry with these fields instead; an undefined one is left out. */
function lineWith(changes: Record<string, unknown>, wire = createdWire): string {
  const sorted = Object.entries({ ...wire, ...changes }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(Object.fromEntries(sorted));
}

describe("toLine", () => {
  verifies("M-E/fields", "a line has exactly the pinned fields, in canonical order", () => {
    expect(Object.keys(createdWire)).toEqual([
      "action_hash",
      "actor",
      "adapter_version",
      "contract_hash",
      "decided",
      "elapsed_ms",
      "hash",
      "kind",
      "labels",
      "model_fingerprint",
      "model_profile_id",
      "prev",
      "result",
      "result_hash",
      "run_id",
      "seq",
      "state",
      "step_id",
      "ts",
    ]);
    expect(createdWire).toMatchObject({
      kind: "run.created",
      state: "PRECHECK",
      contract_hash: CONTRACT.contractHash,
      step_id: "s1",
      decided: { message_ref: null, contract_hash: CONTRACT.contractHash },
    });
  });

  test("whatever an entry holds, it is one line, and parseLine gives it back", () => {
    for (const kind of KINDS) {
      fc.assert(
        fc.property(anyDraft([kind]), (draft) => {
          const [entry] = chainOf([draft]) as [Entry];
          const line = toLine(entry);
          expect(line).not.toContain("\n");
          expect(parseLine(line)).toEqual({ ok: true, value: entry });
          expect(readJournal(`${line}\n`)).toEqual({ entries: [entry], torn: null, bad: null });
        }),
        { numRuns: 20 },
      );
    }
  });

  for (const { class: kind, name, input, expected } of adversarial.filter(({ name }) => /_in_jsonl$/.test(name))) {
    test(`${kind}/${name}: ${expected}`, () => {
      const { content } = input as { content: string };
      const entries = chainOf([
        { ...created, actor: content },
        { ...commit, stepId: content },
      ]);
      expect(readJournal(fileOf(entries))).toEqual({ entries, torn: null, bad: null });
      expect(fileOf(entries).split("\n")).toHaveLength(3);
    });
  }
});

describe("parseLine", () => {
  const problemOf = (line: string): string | null => {
    const parsed = parseLine(line);
    return parsed.ok ? null : parsed.problem;
  };

  test("the line as written passes", () => {
    expect(lineWith({})).toBe(toLine(created));
    expect(problemOf(lineWith({}))).toBeNull();
  });

  test("any field that is missing, of another type, or not ours is refused", () => {
    const { kind: _kind, ...others } = createdWire;
    for (const field of Object.keys(others)) {
      expect(problemOf(lineWith({ [field]: undefined }))).toBe("not a valid run.created");
      expect(problemOf(lineWith({ [field]: [true] }))).toBe("not a valid run.created");
    }
    expect(problemOf(lineWith({ extra: 1 }))).toBe("not a valid run.created");
  });

  const refused: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ["no kind", { kind: undefined }, "not of a known kind"],
    ["an unknown kind", { kind: "toString" }, "not of a known kind"],
    ["the state of another kind", { state: "INFER" }, "not a valid run.created"],
    ["seq 0", { seq: 0 }, "not a valid run.created"],
    ["half an entry", { seq: 1.5 }, "not a valid run.created"],
    ["negative time", { elapsed_ms: -1 }, "not a valid run.created"],
    ["a run without a name", { run_id: "" }, "not a valid run.created"],
    ["an unknown label", { labels: { confidentiality: "public", integrity: "god" } }, "not a valid run.created"],
    ["a result that is no event", { result: { type: "run.won" } }, "not a valid run.created"],
    [
      "a result with a time",
      { result: { elapsed_ms: 0, timer: "run", ts: "", type: "timer.fired" } },
      "not a valid run.created",
    ],
    ["a conclusion with more", { result: { more: 1, type: "call.abandoned" } }, "not a valid run.created"],
    [
      "an answer with more",
      { result: { more: 1, ref: created.hash, type: "run.answered" } },
      "not a valid run.created",
    ],
    ["an answer that is no ref", { result: { ref: "x", type: "run.answered" } }, "not a valid run.created"],
    ["an event with more", { result: { more: 1, timer: "run", type: "timer.fired" } }, "not a valid run.created"],
    ["a hash in capitals", { hash: created.hash.toUpperCase() }, "not a valid run.created"],
  ];
  for (const [name, changes, problem] of refused) {
    test(`${name} is refused`, () => expect(problemOf(lineWith(changes))).toBe(problem));
  }

  test("an event without its time, a conclusion and an answer are results", () => {
    for (const result of [
      { timer: "run", type: "timer.fired" },
      { type: "call.abandoned" },
      { ref: created.hash, type: "run.answered" },
    ]) {
      expect(problemOf(lineWith({ result }))).toBeNull();
    }
  });

  test("what another kind decides, or heard amiss, is refused", () => {
    const commitWire = JSON.parse(toLine(commit)) as { decided: { heard: object[] } };
    const [heard] = commitWire.decided.heard;
    const hearing = (event: object) => lineWith({ decided: { ...commitWire.decided, heard: [event] } }, commitWire);
    expect(problemOf(hearing({ ...heard }))).toBeNull();
    expect(problemOf(hearing({ ...heard, timer: "egg" }))).toBe("not a valid COMMIT");
    expect(problemOf(lineWith({ decided: createdWire["decided"] }, commitWire))).toBe("not a valid COMMIT");
  });

  test("the same words spelled otherwise are refused", () => {
    const line = toLine(created);
    for (const other of [
      ` ${line}`,
      `${line} `,
      `${line}\r`,
      line.replace('"seq":1', '"seq":1.0'),
      line.replace('"seq":1', '"seq": 1'),
      line.replace('"actor":"machine"', '"actor":"\\u006dachine"'),
      JSON.stringify(Object.fromEntries(Object.entries(createdWire).reverse())),
    ]) {
      expect(other).not.toBe(line);
      expect(problemOf(other)).toBe("not canonical JSON");
    }
    expect(problemOf(line.replace('"seq":1', '"seq":1,"seq":1'))).toMatch(/^not JSON: duplicate key at \d+$/);
    for (const other of ["", "null", "[]", '"run.created"', "7"]) expect(problemOf(other)).not.toBeNull();
    expect(problemOf("[]")).toBe("not of a known kind");
    expect(problemOf("null")).toBe("not of a known kind");
    expect(problemOf('{"kind":7}')).toBe("not of a known kind");
  });

  test("a line longer than a mebibyte is a line", () => {
    const [entry] = chainOf([{ ...created, actor: "x".repeat(2 ** 20) }]) as [Entry];
    expect(problemOf(toLine(entry))).toBeNull();
  });
});

describe("readJournal", () => {
  const file = fileOf(SMALL_JOURNAL);

  test("stops at the first bad line and keeps what stood before it", () => {
    expect(readJournal(`${fileOf([created])}\n${fileOf([commit])}{`)).toEqual({
      entries: [created],
      torn: "{",
      bad: { entry: 2, problem: "not JSON: expected a value at 0" },
    });
  });

  test("no byte is mended: neither a byte order mark nor bad UTF-8 passes for anything else", () => {
    expect(readJournal(`\ufeff${file}`).bad).toMatchObject({ entry: 1 });
    // F0 BF BD is what lenient decoders read as U+FFFD too, as if EF BF BD stood there.
    const bytes = encode(file);
    const at = bytes.findIndex((byte, index) => byte === 0xef && bytes[index + 1] === 0xbf);
    expect(readJournal(bytes.with(at, 0xf0)).bad).toEqual({ entry: 1, problem: "not UTF-8" });
  });

  test("text behind the last newline is torn off, whole entry or not", () => {
    expect(readJournal(file.slice(0, -1))).toEqual({ entries: [created, commit], torn: toLine(end), bad: null });
    expect(readJournal("x")).toEqual({ entries: [], torn: "x", bad: null });
    expect(readJournal("")).toEqual({ entries: [], torn: null, bad: null });
  });
});
