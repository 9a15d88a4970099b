/**
 * M-9's six cases for both adapters, with the outcomes of the design: what the model wrote goes through the real
 * adapter, so text, protocol and machine are proven together.
 */
import { describe, expect, test } from "vitest";
import type { ContractTerms } from "../../../src/kernel/contract/contract.ts";
import type { RunEvent } from "../../../src/kernel/journal/event.ts";
import { adapterFor } from "../../../src/kernel/protocol/adapter-for.ts";
import type { RawModelOutput } from "../../../src/kernel/protocol/raw-model-output.ts";
import { encodeToolName } from "../../../src/kernel/protocol/tool-names.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import { truncateOutput } from "../../../src/kernel/vocabulary/truncate-output.ts";
import { verifies } from "../../requirements.ts";
import {
  accepted,
  answered,
  backendOk,
  contractOf,
  finished,
  lastEntry,
  okResponse,
  outcomeOf,
  type Played,
  path,
  plan,
  planned,
  play,
  ref,
  timer,
} from "./scripted-run.ts";

interface Profile {
  readonly version: string;
  /** What a model of this profile writes to call a tool. */
  readonly writesCall: (id: string, tool: string, args: object) => Partial<RawModelOutput>;
  /** A call that is cut off or bent. */
  readonly writesMalformed: Partial<RawModelOutput>;
}

const PROFILES: readonly Profile[] = [
  {
    version: "native-tools@2",
    writesCall: (id, tool, args) => ({
      toolCalls: [{ id, name: encodeToolName(tool) ?? tool, argumentsText: JSON.stringify(args) }],
    }),
    writesMalformed: { toolCalls: [{ id: "c1", name: "fs__read_text", argumentsText: '{"path":' }] },
  },
  {
    version: "marker-json@2",
    writesCall: (id, tool, args) => ({
      content: `<<<TOOL_CALLS_JSON>>>${JSON.stringify([{ id, tool, args }])}<<<END_TOOL_CALLS_JSON>>>`,
    }),
    writesMalformed: { content: '<<<TOOL_CALLS_JSON>>>[{"id":"c1","tool":<<<END_TOOL_CALLS_JSON>>>' },
  },
];

/** The event a driver makes of what the model wrote. */
function written(version: string, strict: boolean, attempt: number, raw: Partial<RawModelOutput>): RunEvent {
  const adapter = adapterFor(version);
  if (adapter === null) throw new Defect(version);
  const whole: RawModelOutput = { content: "", toolCalls: [], stopReason: "stop", model: "m", complete: true, ...raw };
  const { status, failureCode, rawHash, canonicalMessage } = adapter.adapt(whole, strict ? "strict" : "lenient");
  return answered(attempt, {
    rawHash,
    adapter: { status, failureCode, version },
    messageRef: canonicalMessage === null ? null : ref("message"),
    text: canonicalMessage?.content || null,
    calls: (canonicalMessage?.toolCalls ?? []).map((call) => ({
      id: call.id,
      tool: call.name,
      args: JSON.stringify(call.arguments),
    })),
  });
}

const READ = { id: "c1", tool: "fs.read_text", args: '{"path":"a"}' };
const REQUIRED: Partial<ContractTerms> = { toolPolicy: "required", strictMode: true };

interface Case {
  readonly name: string;
  readonly terms: Partial<ContractTerms>;
  readonly script: (profile: Profile) => readonly RunEvent[];
  readonly outcome: string;
  readonly inferences: number;
  readonly also?: (run: Played) => void;
}

const call = (profile: Profile, attempt: number, id = "c1", args: object = { path: "a" }): RunEvent =>
  written(profile.version, true, attempt, profile.writesCall(id, "fs.read_text", args));
const says = (profile: Profile, attempt: number, content: string): RunEvent =>
  written(profile.version, true, attempt, { content });
const timedOut = finished("c1", {
  response: {
    ...okResponse(""),
    ok: false,
    outputRef: null,
    error: { code: "timeout", retryable: true, messageRef: null },
  },
});

const CASES: readonly Case[] = [
  {
    name: "1 required, valid call",
    terms: REQUIRED,
    script: (profile) => [call(profile, 1), planned([plan(READ)]), finished("c1"), says(profile, 2, "done")],
    outcome: "COMPLETED_WITH_TOOLS",
    inferences: 2,
  },
  {
    name: "2 required, malformed twice",
    terms: REQUIRED,
    script: (profile) => [1, 2].map((attempt) => written(profile.version, true, attempt, profile.writesMalformed)),
    outcome: "FAILED_PROTOCOL_MALFORMED protocol.malformed",
    inferences: 2,
    also: (run) => expect(path(run)).toEqual(["PRECHECK", "INFER", "COMMIT", "INFER", "COMMIT", "TERMINATE"]),
  },
  {
    name: "2 required, malformed with no retry left",
    terms: { ...REQUIRED, maxFormatRetries: 0 },
    script: (profile) => [written(profile.version, true, 1, profile.writesMalformed)],
    outcome: "FAILED_PROTOCOL_MALFORMED protocol.malformed",
    inferences: 1,
  },
  {
    name: "3 required, narration only",
    terms: REQUIRED,
    script: (profile) => [says(profile, 1, "I have read the file for you.")],
    outcome: "FAILED_PROTOCOL_NO_TOOLS protocol.no-tool-call",
    inferences: 1,
    also: (run) => expect(lastEntry(run, "TERMINATE").result).toBeNull(),
  },
  {
    name: "4 forbidden, attempted call",
    terms: { toolPolicy: "forbidden" },
    script: (profile) => [call(profile, 1)],
    outcome: "FAILED_CONTRACT_VIOLATION tool.forbidden",
    inferences: 1,
    also: (run) => expect(path(run)).not.toContain("EXECUTE"),
  },
  {
    name: "5 oversized result",
    terms: {
      ...REQUIRED,
      toolOutputBudget: { maxBytesPerCall: 100, truncationMarker: "[cut]", summarizerModel: null },
    },
    script: (profile) => {
      const { text, truncated, bytes } = truncateOutput("x".repeat(1_000_000), 100, "[cut]");
      expect(text.endsWith("[cut]")).toBe(true);
      return [
        call(profile, 1),
        planned([plan(READ)]),
        finished("c1", { response: { ...okResponse(text), truncated, outputBytes: bytes } }),
        says(profile, 2, "done"),
      ];
    },
    outcome: "COMPLETED_WITH_TOOLS",
    inferences: 2,
    also: (run) =>
      expect(lastEntry(run, "OBSERVE").result).toMatchObject({ response: { truncated: true, outputBytes: 100 } }),
  },
  {
    name: "6 tool times out, then the model closes properly",
    terms: REQUIRED,
    script: (profile) => [
      call(profile, 1),
      planned([plan(READ)]),
      timedOut,
      call(profile, 2, "c2", { path: "b" }),
      planned([plan({ id: "c2", tool: "fs.read_text", args: "b" })]),
      finished("c2"),
      says(profile, 3, "done"),
    ],
    outcome: "COMPLETED_WITH_TOOLS",
    inferences: 3,
  },
  {
    name: "6 tool times out, optional tools",
    terms: {},
    script: (profile) => [call(profile, 1), planned([plan(READ)]), timedOut, says(profile, 2, "It took too long.")],
    outcome: "COMPLETED_WITH_TOOLS",
    inferences: 2,
  },
  {
    name: "6 tool times out, nothing else was tried",
    terms: REQUIRED,
    script: (profile) => [call(profile, 1), planned([plan(READ)]), timedOut, says(profile, 2, "It took too long.")],
    outcome: "FAILED_VALIDATION tool.all-failed",
    inferences: 2,
  },
  {
    name: "6 the tool never answers, its own deadline fires",
    terms: {},
    script: (profile) => [
      call(profile, 1),
      planned([plan(READ, { timeoutMs: 1_000 })]),
      timer("tool", 1_000),
      says(profile, 2, "It took too long."),
    ],
    outcome: "COMPLETED_WITH_TOOLS",
    inferences: 2,
  },
  {
    name: "6 the step's deadline fires first",
    terms: { ...REQUIRED, stepTimeoutMs: 500 },
    script: (profile) => [call(profile, 1), planned([plan(READ, { timeoutMs: 1_000 })]), timer("step", 500)],
    outcome: "FAILED_TIMEOUT step.timeout",
    inferences: 1,
  },
];

describe.each(PROFILES)("the conformance corpus for $version", (profile) => {
  test("has the six cases of the seed", () => {
    expect([...new Set(CASES.map(({ name }) => name[0]))]).toEqual(["1", "2", "3", "4", "5", "6"]);
  });

  for (const { name, terms, script, outcome, inferences, also } of CASES) {
    verifies("M-9/cases", `${name}: ${outcome}`, () => {
      const contract = contractOf({ ...terms, adapterVersion: profile.version, modelProfileId: profile.version });
      const facts = accepted();
      const begin = accepted({ profile: { ...facts.profile, id: profile.version, adapterVersion: profile.version } });
      const run = play(contract, [begin, backendOk(), ...script(profile)]);
      expect(outcomeOf(run)).toBe(outcome);
      const asked = run.commands.flat().filter((command) => command.type === "call-model");
      expect(asked).toHaveLength(inferences);
      also?.(run);
    });
  }
});
