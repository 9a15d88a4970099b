import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Recovery } from "../../../src/kernel/journal/entry.ts";
import type { PlannedCall, RunEvent } from "../../../src/kernel/journal/event.ts";
import { afterResult, CALM, hasEscalated, settleRecovery } from "../../../src/kernel/machine/recovery.ts";
import { verifies } from "../../requirements.ts";
import {
  answered,
  batch,
  begin,
  commandsOf,
  contractOf,
  failed,
  finished,
  lastEntry,
  outcomeOf,
  type Played,
  plan,
  play,
  playOn,
  ref,
} from "./scripted-run.ts";

/** `x` a failing result, `.` a success, `|` the end of a turn; shown as active / in a row / in recovery / successes. */
function told(story: string): string {
  let recovery: Recovery = CALM;
  for (const sign of story) {
    recovery = sign === "|" ? settleRecovery(recovery) : afterResult(recovery, sign === ".");
  }
  const { active, failuresInARow, failuresInRecovery, successesInARow } = recovery;
  return `${active ? "active" : "calm"} ${failuresInARow}/${failuresInRecovery}/${successesInARow}`;
}

describe("recovery", () => {
  test.each([
    ["", "calm 0/0/0"],
    [".", "calm 0/0/1"],
    [".|.|.", "calm 0/0/3"],
    ["x|", "calm 1/0/0"],
    ["x|.|x|", "calm 1/0/0"],
    ["x|x", "calm 2/0/0"],
    ["x|x|", "active 2/0/0"],
    ["xx|", "active 2/0/0"],
    ["xxx|", "active 3/0/0"],
    [".xx|", "active 2/0/0"],
    // What succeeds after two failures of the same batch undoes nothing.
    ["xx.|", "active 2/0/0"],
    ["xx.x|", "active 3/0/0"],
    ["xx..|", "active 2/0/0"],
    ["x.x|", "calm 1/0/0"],
    ["xx|x|", "active 3/1/0"],
    ["xx|.|", "active 0/0/1"],
    ["xx|.|x|", "active 1/1/0"],
    ["xx|x|.|x|.|", "active 0/2/1"],
    ["xx|.|.|", "calm 0/0/0"],
    ["xx|..|", "calm 0/0/0"],
    ["xx|.|.|x|", "calm 1/0/0"],
    ["xx|x|x|..|xx|", "active 2/0/0"],
    // Nor do successes after the third failure in recovery, or before another failure.
    ["xx|xxx..|", "active 0/3/2"],
    ["xx|..x|", "active 1/1/0"],
  ])("%s → %s", (story, expected) => {
    expect(told(story)).toBe(expected);
  });

  verifies("O-2.3", "escalates at the third failing result in recovery, in a row or not", () => {
    const active = { ...CALM, active: true };
    expect([2, 3, 4].map((failuresInRecovery) => hasEscalated({ ...active, failuresInRecovery }))).toEqual([
      false,
      true,
      true,
    ]);
    expect(hasEscalated({ ...CALM, failuresInRecovery: 3 })).toBe(false);
  });

  verifies(
    ["O-2.2", "O-2.4"],
    "begins after two failures in a row and ends after two successes, at a turn's end",
    () => {
      fc.assert(
        fc.property(fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }), { maxLength: 8 }), (turns) => {
          let recovery: Recovery = CALM;
          let since = "";
          for (const turn of turns) {
            since += turn.map((ok) => (ok ? "." : "x")).join("");
            const before: Recovery = recovery;
            recovery = settleRecovery(turn.reduce(afterResult, before));
            if (!before.active) expect(recovery.active).toBe(since.includes("xx"));
            else if (!hasEscalated(recovery)) expect(recovery.active).toBe(!since.endsWith(".."));
            if (recovery.active !== before.active) since = "";
          }
        }),
      );
    },
  );
});

/** A turn whose calls all end as told: `x` fails, `.` succeeds. Every call is another one, so no cycle gets in the way. */
function turns(story: string): readonly RunEvent[] {
  return story.split("|").flatMap((results, index): readonly RunEvent[] => {
    const calls = [...results].map((_, call): PlannedCall => {
      const id = `${index}-${call}`;
      return plan({ id, tool: "fs.read_text", args: id });
    });
    const events = calls.map(({ callId }, call) => (results[call] === "." ? finished(callId) : failed(callId, callId)));
    return [...batch(index + 1, calls), ...events];
  });
}
const modes = (run: Played): string =>
  commandsOf(run, "call-model")
    .map(({ mode }) => mode)
    .join(" ");
const told2 = (story: string): Played => play(contractOf(), [...begin(), ...turns(story)]);

describe("failing tools", () => {
  verifies("O-2.2/mode", "after two failing results in a row the next turn is a recovery turn, and no earlier", () => {
    expect(modes(told2("x"))).toBe("normal normal");
    expect(modes(told2("x|x"))).toBe("normal normal recovery");
    expect(modes(told2("xx"))).toBe("normal recovery");
    expect(modes(told2("xx."))).toBe("normal recovery");
    expect(modes(told2("xx.."))).toBe("normal recovery");
    expect(modes(told2("x|.|x"))).toBe("normal normal normal normal");
  });

  verifies("O-2.4", "recovery lasts over one success and ends after two", () => {
    expect(modes(told2("xx|."))).toBe("normal recovery recovery");
    expect(modes(told2("xx|.|."))).toBe("normal recovery recovery normal");
    expect(modes(told2("xx|.|x|."))).toBe("normal recovery recovery recovery recovery");
  });

  verifies(
    "O-2.3/escalation",
    "three more failing results end the run with what was tried, for the user to judge",
    () => {
      const before = told2("xx|x|x");
      expect(outcomeOf(before)).toBe("INFER");
      const run = told2("xx|x|x|x");
      expect(outcomeOf(run)).toBe("FAILED_BUDGET_EXHAUSTED tool_failure_escalation");
      expect(lastEntry(run, "COMMIT").decided.recovery).toEqual({
        active: true,
        failuresInARow: 5,
        failuresInRecovery: 3,
        successesInARow: 0,
      });
      expect(lastEntry(run, "TERMINATE").decided.attempts).toEqual(
        ["0-0", "0-1", "1-0", "2-0", "3-0"].map((id) => ({
          tool: "fs.read_text",
          argsRef: ref(id),
          code: "internal.error",
          messageRef: ref(id),
          outputRef: null,
        })),
      );
      expect(lastEntry(run, "TERMINATE").result).toBeNull();
      expect(outcomeOf(told2("xx|xxx.."))).toBe("FAILED_BUDGET_EXHAUSTED tool_failure_escalation");
    },
  );

  test("of many attempts the last five are told", () => {
    const { attempts } = lastEntry(told2("x|.|xx|x|.|x|x"), "TERMINATE").decided;
    expect(attempts.map(({ argsRef }) => argsRef)).toEqual(["2-0", "2-1", "3-0", "5-0", "6-0"].map(ref));
  });

  test("attempts are told of an escalation only", () => {
    const run = playOn(told2("xx|x"), [answered(3, { text: "sorry" })]);
    expect(lastEntry(run, "TERMINATE").decided.attempts).toEqual([]);
    const exhausted = play(contractOf({ maxInferences: 1 }), [...begin(), ...turns("xx")]);
    expect(outcomeOf(exhausted)).toBe("FAILED_BUDGET_EXHAUSTED budget.inferences");
    expect(lastEntry(exhausted, "TERMINATE").decided.attempts).toEqual([]);
  });
});
