import { describe, expect, test } from "vitest";
import { type ContractTerms, MACHINE_VERSION } from "../../../src/kernel/contract/contract.ts";
import { NOTHING_SPENT } from "../../../src/kernel/journal/entry.ts";
import type { RunEvent } from "../../../src/kernel/journal/event.ts";
import { missingProof } from "../../../src/kernel/machine/effect-proof.ts";
import { startRun } from "../../../src/kernel/machine/state.ts";
import { verifies } from "../../requirements.ts";
import {
  answered,
  begin,
  commandsOf,
  contractOf,
  failed,
  finished,
  outcomeOf,
  plan,
  play,
  RUN_ID,
  rejected,
  resolved,
  toolTurn,
  unknownEffect,
} from "./scripted-run.ts";

const EFFECTS: Partial<ContractTerms> = { requiredEffects: [{ tool: "fs.write_text" }, { tool: "http.get" }] };

describe("missing proof", () => {
  const proof = (
    terms: Partial<ContractTerms>,
    [performed, succeeded]: readonly [number, number],
    proven: readonly number[] = [],
    attempted: readonly number[] = [],
  ) =>
    missingProof({
      ...startRun(RUN_ID, contractOf(terms)),
      budget: { ...NOTHING_SPENT, performed, succeeded },
      effects: { proven, attempted },
    });

  verifies("M-C", "under required: a performed call, and one that succeeded", () => {
    expect(proof({ toolPolicy: "required" }, [0, 0])).toBe("protocol.no-tool-call");
    expect(proof({ toolPolicy: "required" }, [2, 0])).toBe("tool.all-failed");
    expect(proof({ toolPolicy: "required" }, [2, 1])).toBeNull();
    expect(proof({ toolPolicy: "optional" }, [0, 0])).toBeNull();
    expect(proof({ toolPolicy: "optional" }, [2, 0])).toBeNull();
  });

  verifies("X-1", "every required effect, the first missing one named by whether it was tried", () => {
    expect(proof(EFFECTS, [1, 1])).toBe("effect.missing");
    expect(proof(EFFECTS, [1, 1], [0])).toBe("effect.missing");
    expect(proof(EFFECTS, [1, 1], [1])).toBe("effect.missing");
    expect(proof(EFFECTS, [1, 1], [1, 0])).toBeNull();
    expect(proof(EFFECTS, [1, 1], [0], [1])).toBe("effect.failed");
    expect(proof(EFFECTS, [1, 1], [0], [0])).toBe("effect.missing");
    expect(proof(EFFECTS, [1, 1], [], [1])).toBe("effect.missing");
    expect(proof({ ...EFFECTS, toolPolicy: "required" }, [0, 0], [0, 1])).toBe("protocol.no-tool-call");
  });
});

const READ = { id: "c1", tool: "fs.read_text", args: "a" };
const WRITE = { id: "c2", tool: "fs.write_text", args: "b" };
const FETCH = { id: "c3", tool: "http.get", args: "c" };
const told = (terms: Partial<ContractTerms>, ...events: readonly (readonly RunEvent[])[]) =>
  play(contractOf(terms), [...begin(), ...events.flat()]);
const done = (attempt: number) => [answered(attempt, { text: "Done, I sent the mail." })];

describe("a run that must act", () => {
  verifies(
    ["M-C", "M-F", "M-9"],
    "and only talks ends FAILED_PROTOCOL_NO_TOOLS after one inference, its text untold",
    () => {
      const run = told({ toolPolicy: "required", tokenGate: true }, done(1));
      expect(outcomeOf(run)).toBe("FAILED_PROTOCOL_NO_TOOLS protocol.no-tool-call");
      expect(commandsOf(run, "call-model")).toHaveLength(1);
      expect(commandsOf(run, "finish")).toEqual([
        {
          type: "finish",
          outcome: "FAILED_PROTOCOL_NO_TOOLS",
          reason: "protocol.no-tool-call",
          answerRef: null,
        },
      ]);
    },
  );

  verifies("M-C", "and tried, but had every call refused, ends FAILED_VALIDATION", () => {
    const ended = (machineVersion: number, refused: readonly RunEvent[]) =>
      outcomeOf(told({ toolPolicy: "required", machineVersion }, refused, done(2)));
    const denied = toolTurn(1, { ...READ, tool: "shell.exec" }).slice(0, 2);
    const problem = { code: "tool.input_invalid", retryable: false, messageRef: null } as const;
    const invalid = toolTurn(1, READ, { plan: { problem } }).slice(0, 2);
    const unknown = toolTurn(1, READ, { plan: { problem: { ...problem, code: "tool.not_found" } } }).slice(0, 2);
    for (const refused of [denied, invalid, unknown]) {
      expect(ended(MACHINE_VERSION, refused)).toBe("FAILED_VALIDATION tool.all-failed");
      expect(ended(1, refused)).toBe("FAILED_PROTOCOL_NO_TOOLS protocol.no-tool-call");
    }
  });

  verifies("M-C", "and tried is not forgotten over later turns without a call", () => {
    const denied = toolTurn(1, { ...READ, tool: "shell.exec" }).slice(0, 2);
    const malformed = rejected(2);
    expect(outcomeOf(told({ toolPolicy: "required" }, denied, [malformed], done(3)))).toBe(
      "FAILED_VALIDATION tool.all-failed",
    );
  });

  verifies("M-C", "and only failed ends FAILED_VALIDATION", () => {
    expect(outcomeOf(told({ toolPolicy: "required" }, toolTurn(1, READ, { result: failed("c1") }), done(2)))).toBe(
      "FAILED_VALIDATION tool.all-failed",
    );
  });

  verifies("M-C", "and did so once is completed", () => {
    const failure = toolTurn(1, READ, { result: failed("c1") });
    expect(outcomeOf(told({ toolPolicy: "required" }, failure, toolTurn(2, FETCH), done(3)))).toBe(
      "COMPLETED_WITH_TOOLS",
    );
  });
});

describe("required effects", () => {
  const proves = (attempt: number, call: typeof WRITE, effects: number[], result: RunEvent = finished(call.id)) =>
    toolTurn(attempt, call, { plan: { effects }, result });

  verifies("X-1/claimed", "claimed but never performed: FAILED_PROTOCOL_NO_TOOLS, whatever else was done", () => {
    expect(outcomeOf(told(EFFECTS, done(1)))).toBe("FAILED_PROTOCOL_NO_TOOLS effect.missing");
    expect(outcomeOf(told(EFFECTS, toolTurn(1, READ), done(2)))).toBe("FAILED_PROTOCOL_NO_TOOLS effect.missing");
    expect(outcomeOf(told(EFFECTS, proves(1, WRITE, [0]), done(2)))).toBe("FAILED_PROTOCOL_NO_TOOLS effect.missing");
  });

  verifies("X-1", "performed without success: FAILED_VALIDATION", () => {
    const run = told(EFFECTS, proves(1, WRITE, [0]), proves(2, FETCH, [1], failed("c3")), done(3));
    expect(outcomeOf(run)).toBe("FAILED_VALIDATION effect.failed");
  });

  verifies("X-1", "performed with success, at first or at last: completed", () => {
    expect(outcomeOf(told(EFFECTS, proves(1, WRITE, [0, 1]), done(2)))).toBe("COMPLETED_WITH_TOOLS");
    const late = told(
      EFFECTS,
      proves(1, FETCH, [1], failed("c3")),
      proves(2, { ...FETCH, id: "c4" }, [1], finished("c4")),
      proves(3, WRITE, [0]),
      done(4),
    );
    expect(outcomeOf(late)).toBe("COMPLETED_WITH_TOOLS");
    expect(late.state.effects).toEqual({ proven: [1, 0], attempted: [1] });
  });

  test("are proven once, however often they are performed", () => {
    const run = told(
      EFFECTS,
      proves(1, WRITE, [0]),
      proves(2, { ...WRITE, id: "c4", args: "d" }, [0, 1], finished("c4")),
    );
    expect(run.state.effects.proven).toEqual([0, 1]);
  });

  verifies("X-1", "refused are not even attempted", () => {
    const refused = toolTurn(1, WRITE, { plan: { effects: [0, 1], tool: "shell.exec" } }).slice(0, 2);
    const run = told(EFFECTS, refused, done(2));
    expect(outcomeOf(run)).toBe("FAILED_PROTOCOL_NO_TOOLS effect.missing");
    expect(run.state.effects).toEqual({ proven: [], attempted: [] });
  });

  verifies("X-1", "of an interrupted call count when a person says that it was done", () => {
    const call = plan(WRITE, { effects: [0, 1] });
    const turn = [...toolTurn(1, WRITE, { plan: { effects: call.effects } }).slice(0, 2), unknownEffect("c2")];
    expect(outcomeOf(told(EFFECTS, turn, [resolved("c2", "done")], done(2)))).toBe("COMPLETED_WITH_TOOLS");
    expect(outcomeOf(told(EFFECTS, turn, [resolved("c2", "fail")], done(2)))).toBe("FAILED_VALIDATION effect.failed");
  });
});
