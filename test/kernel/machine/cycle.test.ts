import { describe, expect, test } from "vitest";
import { MACHINE_VERSION } from "../../../src/kernel/contract/contract.ts";
import type { PlannedCall, RunEvent } from "../../../src/kernel/journal/event.ts";
import { type CallTrace, extendTrail, isCycle, repeatsOf } from "../../../src/kernel/machine/cycle.ts";
import { verifies } from "../../requirements.ts";
import {
  batch,
  begin,
  contractOf,
  failed,
  finished,
  lastEntry,
  okResponse,
  outcomeOf,
  type Played,
  plan,
  play,
  ref,
} from "./scripted-run.ts";

const CURRENT = { machineVersion: MACHINE_VERSION };
const FIRST = { machineVersion: 1 };

/** A letter is a call with its result; `~` after it makes it pollable. */
function trailOf(story: string, terms = CURRENT): readonly CallTrace[] {
  let trail: readonly CallTrace[] = [];
  for (const [, letter, result, poll] of story.matchAll(/([a-z])(\d?)(~?)/g)) {
    trail = extendTrail(terms, trail, { call: `${letter}`, result: `${result}` }, poll === "~");
  }
  return trail;
}

describe("a trail", () => {
  const TRAILS: readonly (readonly [string, number, boolean])[] = [
    ["", 0, false],
    ["a", 1, false],
    ["aa", 2, false],
    ["aaa", 3, true],
    ["baaa", 3, true],
    ["aba", 1, false],
    ["aab", 1, false],
    ["aaba", 1, false],
    ["abab", 1, true],
    ["xabab", 1, true],
    ["abac", 1, false],
    ["abcb", 1, false],
    ["aabb", 2, false],
    ["abba", 1, false],
    ["abcab", 1, false],
    ["abcabc", 1, true],
    ["abcabcabc", 1, true],
    ["xyabcabc", 1, true],
    ["aabaab", 1, true],
    ["abcabd", 1, false],
    ["abcabc~", 0, false],
    ["a1b1c1a1b1c2", 1, false],
    ["abcdabc", 1, false],
    ["abcdabcd", 1, true],
    ["aabbaabb", 2, true],
    ["xabcdabcd", 1, true],
    ["abcdeabcde", 1, false],
    ["a1a2a1", 1, false],
    ["a1a1a2", 1, false],
    ["a1b1a2b1", 1, false],
    ["a1b1a1b2", 1, false],
    ["a1a2a1a2", 1, true],
    ["a~", 0, false],
    ["a~a~a~a~", 0, false],
    ["aaa~", 0, false],
    ["aab~a", 1, false],
    // Once a cycle, always a cycle.
    ["aaab", 3, true],
    ["aaab~", 3, true],
    ["ababc", 1, true],
    ["aaabcde", 3, true],
  ];
  for (const [story, repeats, cyclic] of TRAILS) {
    verifies(
      "X-7",
      `${story || "of nothing"} is ${cyclic ? "a" : "no"} cycle, its newest call made ${repeats} times`,
      () => {
        const trail = trailOf(story);
        expect([repeatsOf(trail), isCycle(CURRENT, trail)]).toEqual([repeats, cyclic]);
      },
    );
  }

  test("remembers no more than it needs", () => {
    expect(trailOf("abcdefghij").map(({ call }) => call)).toEqual([..."cdefghij"]);
    expect(trailOf("abcdefgh", FIRST).map(({ call }) => call)).toEqual([..."efgh"]);
  });

  test("of the first machine version knows repeated calls and pairs only", () => {
    const stories = ["aaa", "abab", "abcabc", "abcdabcd", "abcabcabc"];
    expect(stories.filter((story) => isCycle(FIRST, trailOf(story, FIRST)))).toEqual(["aaa", "abab"]);
  });
});

const read = (id: string, args: string, over: Partial<PlannedCall> = {}) =>
  plan({ id, tool: "fs.read_text", args }, over);
/** One call a turn, all with the same result; what follows a letter's `!` fails. */
function turns(story: string, over: Partial<PlannedCall> = {}): readonly RunEvent[] {
  return [...story.matchAll(/([a-z])(!?)/g)].flatMap(([, args = "", fails], index) => {
    const id = `c${index}`;
    return [...batch(index + 1, [read(id, args, over)]), fails ? failed(id) : finished(id)];
  });
}
const told = (story: string, over: Partial<PlannedCall> = {}): Played =>
  play(contractOf(), [...begin(), ...turns(story, over)]);
const CYCLE = "FAILED_BUDGET_EXHAUSTED cycle";

describe("a run that repeats itself", () => {
  verifies("X-7/repeat", "ends at the third identical call with the same result", () => {
    expect(outcomeOf(told("aa"))).toBe("INFER");
    expect(outcomeOf(told("aaa"))).toBe(CYCLE);
    expect(lastEntry(told("aaa"), "COMMIT").decided).toMatchObject({ cycle: 3, next: "TERMINATE" });
  });

  verifies("X-7/pair", "ends when a pair has alternated twice", () => {
    expect(outcomeOf(told("aba"))).toBe("INFER");
    expect(outcomeOf(told("abab"))).toBe(CYCLE);
  });

  test("goes on while results change", () => {
    const events = ["1", "2", "3", "4"].flatMap((output, index) => [
      ...batch(index + 1, [read(`c${index}`, "a")]),
      finished(`c${index}`, { output }),
    ]);
    expect(outcomeOf(play(contractOf(), [...begin(), ...events]))).toBe("INFER");
  });

  verifies("X-7/period", "ends when three or four calls have been made twice over with the same results", () => {
    expect(outcomeOf(told("abcab"))).toBe("INFER");
    expect(outcomeOf(told("abcabc"))).toBe(CYCLE);
    expect(outcomeOf(told("abcdabcd"))).toBe(CYCLE);
  });

  verifies("X-7/volatile", "ends although durations and times in the output differ", () => {
    const events = (stable: (index: number) => string) =>
      [0, 1, 2].flatMap((index) => [
        ...batch(index + 1, [read(`c${index}`, "a")]),
        finished(`c${index}`, { response: { ...okResponse(`took ${index} ms`), stableRef: ref(stable(index)) } }),
      ]);
    expect(outcomeOf(play(contractOf(), [...begin(), ...events(() => "same")]))).toBe(CYCLE);
    expect(outcomeOf(play(contractOf(), [...begin(), ...events((index) => `other ${index}`)]))).toBe("INFER");
    expect(outcomeOf(play(contractOf({ machineVersion: 1 }), [...begin(), ...events(() => "same")]))).toBe("INFER");
  });

  verifies("X-7/errors", "ends although the same error is worded differently each time", () => {
    const wordings = ["after 10 ms", "after 11 ms", "after 12 ms"];
    const events = wordings.flatMap((words, index) => [
      ...batch(index + 1, [read(`c${index}`, "a")]),
      failed(`c${index}`, words),
    ]);
    expect(outcomeOf(play(contractOf(), [...begin(), ...events]))).toBe(CYCLE);
    expect(outcomeOf(play(contractOf({ machineVersion: 1 }), [...begin(), ...events]))).toBe("INFER");
  });

  verifies("X-7", "may poll: budgets bound it instead", () => {
    expect(outcomeOf(told("aaaaaaaa", { pollable: true }))).toBe("INFER");
    expect(outcomeOf(told("aaaaaaaaaa", { pollable: true }))).toBe("FAILED_BUDGET_EXHAUSTED budget.inferences");
  });

  verifies("X-7", "ends as well when what it repeats is refused", () => {
    const refused = (id: string, attempt: number) => batch(attempt, [plan({ id, tool: "shell.exec", args: "rm" })]);
    const run = play(contractOf(), [...begin(), ...refused("c1", 1), ...refused("c2", 2), ...refused("c3", 3)]);
    expect(outcomeOf(run)).toBe(CYCLE);
    expect(lastEntry(run, "COMMIT").decided.budget.performed).toBe(0);
  });

  verifies("X-7", "within one batch ends after it, whatever else the batch did", () => {
    const write = (id: string, args: string) => plan({ id, tool: "fs.write_text", args });
    const calls = [write("c1", "a"), write("c2", "a"), write("c3", "a"), write("c4", "b")];
    const results = calls.map(({ callId }) => finished(callId));
    expect(outcomeOf(play(contractOf(), [...begin(), ...batch(1, calls), ...results]))).toBe(CYCLE);
  });

  verifies("X-7", "ends for the cycle rather than for its failing tools", () => {
    const failing = told("a!b!c!d!e!");
    expect(outcomeOf(failing)).toBe("FAILED_BUDGET_EXHAUSTED tool_failure_escalation");
    const both = told("a!b!c!c!c!");
    expect(lastEntry(both, "COMMIT").decided).toMatchObject({ recovery: { failuresInRecovery: 3 }, cycle: 3 });
    expect(outcomeOf(both)).toBe(CYCLE);
  });
});
