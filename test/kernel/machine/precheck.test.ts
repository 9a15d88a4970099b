import { describe, expect, test } from "vitest";
import type { ContractTerms } from "../../../src/kernel/contract/contract.ts";
import { openContract } from "../../../src/kernel/contract/open-contract.ts";
import type { EventOf, RunEvent } from "../../../src/kernel/journal/event.ts";
import { hashBytes, hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { UNTRUSTED_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import { seedDocument } from "../contract/seed-document.ts";
import {
  accepted,
  answered,
  at,
  backendOk,
  cancel,
  commandTypes,
  contractOf,
  finished,
  isIgnored,
  lastCommands,
  lastEntry,
  outcomeOf,
  path,
  play,
  ref,
  TOOLS,
  timer,
} from "./scripted-run.ts";

const passed = (check: string) => ({ check, failure: null, detail: "" });
const LOCAL = ["context", "structure", "tools", "profile"].map(passed);
const backendDown: EventOf<"backend.checked"> = { ...backendOk(), responsive: false, detail: "connection refused" };

describe("a run that is accepted", () => {
  verifies("M-P2b", "asks for the backend only when every local check has passed, and records nothing yet", () => {
    const run = play(contractOf(), [accepted()]);
    expect(run.commands).toEqual([[{ type: "check-backend" }]]);
    expect(run.entries).toEqual([]);
    expect(run.state.phase).toEqual({ at: "PRECHECK", verdicts: LOCAL });
  });

  verifies(
    "M-P2b/preflight",
    "begins its first inference when the backend answers, with all five verdicts on record",
    () => {
      const contract = contractOf();
      const events = [accepted({ principal: "alice", labels: UNTRUSTED_LABELS }), at(5, backendOk())];
      const run = play(contract, events);
      expect(run.entries).toHaveLength(1);
      expect(lastEntry(run, "run.created")).toMatchObject({
        seq: 1,
        state: "PRECHECK",
        stepId: "step-0",
        elapsedMs: 5,
        actor: "alice",
        labels: UNTRUSTED_LABELS,
        contractHash: contract.contractHash,
        prev: hashCanonical(contract.contractHash),
        decided: {
          messageRef: ref("message"),
          principal: "alice",
          contractHash: contract.contractHash,
          verdicts: [...LOCAL, passed("backend")],
          heard: events,
        },
        result: null,
      });
      expect(lastCommands(run)).toEqual([
        {
          type: "call-model",
          attempt: 1,
          mode: "normal",
          promptHead: hashBytes("prompt"),
          maxOutputTokens: 2_048,
          tools: TOOLS,
          constraintHash: hashCanonical([contract.contractHash, "normal"]),
          delayMs: 0,
        },
      ]);
    },
  );

  test("may use, under allowed_tools null, all the tools that were granted", () => {
    const opened = openContract(seedDocument({ allowed_tools: null }));
    if (!opened.ok) throw new Error(opened.problem);
    const run = play(opened.contract, [
      accepted({ tools: { digest: hashBytes("tools"), names: ["http.get"] } }),
      backendOk(),
    ]);
    expect(lastCommands(run)).toMatchObject([{ tools: ["http.get"] }]);
  });
});

describe("a contract that cannot be carried out", () => {
  const REFUSED: readonly (readonly [string, Partial<ContractTerms>, string, number])[] = [
    [
      "over budget",
      { contextBudget: { contextWindow: 90, reservedSystem: 0, reservedSynthesis: 0, forceSynthesisAtRatio: 1 } },
      "context.over-budget",
      1,
    ],
    ["speculative", { speculativeExec: true }, "contract.invalid", 2],
    ["required with no tool", { allowedTools: [], toolPolicy: "required" }, "contract.tools-unavailable", 3],
    ["for another profile", { modelProfileId: "marker-json" }, "contract.profile-incompatible", 4],
  ];
  for (const [name, terms, reason, checks] of REFUSED) {
    verifies(["M-P2b", "M-4.5"], `${name}: FAILED_PREFLIGHT, with not one byte on the wire`, () => {
      const run = play(contractOf(terms), [accepted()]);
      expect(outcomeOf(run)).toBe(`FAILED_PREFLIGHT ${reason}`);
      expect(path(run)).toEqual(["PRECHECK", "COMMIT", "TERMINATE"]);
      expect(commandTypes(run)).toEqual(["finish"]);
      const { verdicts } = lastEntry(run, "run.created").decided;
      expect(verdicts.map(({ failure }) => failure)).toEqual([...Array(checks - 1).fill(null), reason]);
    });
  }

  verifies("M-P2b", "a silent backend: FAILED_PREFLIGHT without an inference", () => {
    const run = play(contractOf(), [accepted(), backendDown]);
    expect(outcomeOf(run)).toBe("FAILED_PREFLIGHT backend.unresponsive");
    expect(lastEntry(run, "run.created").decided.verdicts).toEqual([
      ...LOCAL,
      { check: "backend", failure: "backend.unresponsive", detail: "connection refused" },
    ]);
    expect(commandTypes(run)).toEqual(["check-backend", "finish"]);
    expect(lastEntry(run, "COMMIT").decided.budget.inferences).toBe(0);
  });

  test("a context too full for its first inference is compacted before anything is sent", () => {
    const contextBudget = { contextWindow: 1_000, reservedSystem: 0, reservedSynthesis: 0, forceSynthesisAtRatio: 0.1 };
    const run = play(contractOf({ contextBudget }), [accepted(), backendOk()]);
    expect(lastCommands(run)).toMatchObject([{ type: "compact", step: 1 }]);
  });
});

describe("a run that ends before it began", () => {
  const ENDED: readonly (readonly [RunEvent, string])[] = [
    [cancel(), "INTERRUPTED run.cancelled"],
    [timer("run", 600_000), "FAILED_TIMEOUT run.timeout"],
    [timer("step", 120_000), "FAILED_TIMEOUT step.timeout"],
  ];
  for (const [event, outcome] of ENDED) {
    verifies("M-5/accounting", `${outcome}: it was created, accounted for and ended`, () => {
      const queued = play(contractOf(), [event]);
      expect(outcomeOf(queued)).toBe(outcome);
      expect(path(queued)).toEqual(["PRECHECK", "COMMIT", "TERMINATE"]);
      expect(commandTypes(queued)).toEqual(["stop-work", "finish"]);
      expect(lastEntry(queued, "run.created")).toMatchObject({
        actor: "system",
        decided: { messageRef: null, principal: "system", verdicts: [], heard: [event] },
      });
      const checking = play(contractOf(), [accepted(), event]);
      expect(outcomeOf(checking)).toBe(outcome);
      expect(lastEntry(checking, "run.created")).toMatchObject({
        actor: "operator",
        decided: { messageRef: ref("message"), principal: "operator", verdicts: LOCAL, heard: [accepted(), event] },
      });
    });
  }
});

test("what PRECHECK does not wait for is not heard", () => {
  const queued = play(contractOf(), []);
  const others = [backendOk(), answered(1, {}), finished("c1"), timer("tool", 999_999), timer("grace", 999_999)];
  expect(others.map((event) => isIgnored(queued, event))).toEqual(others.map(() => true));
  const checking = play(contractOf(), [accepted()]);
  const early = [accepted(), answered(1, {}), timer("run", 599_999), timer("step", 119_999)];
  expect(early.map((event) => isIgnored(checking, event))).toEqual(early.map(() => true));
});
