/**
 * The conformance corpus: the six cases of M-9 with the outcomes of design §4, in the seed's order, then later additions.
 * Ids never change: saved results name them.
 *
 * A case about a model that breaks the rules tells it to (`isProvoked`). If the wire would prevent that, `loosen` changes
 * the request on the wire alone; contract, adapter and machine are those of any other run.
 */
import type { Outcome } from "../../kernel/vocabulary/outcome.ts";
import type { ModelRequest } from "../../runtime/ports/model-backend.ts";
import type { ContractOverrides } from "../runs/run-request.ts";
import { type DictatedCall, type Dictation, writeDictation } from "./dictation.ts";
import { ABSENT, ECHO, FLOOD, PING, STALL, WAIT } from "./tool-offers.ts";
import {
  allOf,
  allRejected,
  answered,
  answeredWith,
  calledTogether,
  cutAtBudget,
  echoed,
  endedFor,
  failedWith,
  notesApplied,
  nothingCalled,
  nothingPerformed,
  succeeded,
  type TranscriptCheck,
  withoutThoughts,
} from "./transcript-checks.ts";

/** What a model is asked to do, and under which contract. */
export interface ConformanceCase {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  readonly isProvoked: boolean;
  /** `slowestMs`: the model's slowest answer so far. */
  readonly contract: (slowestMs: number) => ContractOverrides;
  /** What the contract prescribes, not what the model wants. `holdsRequired`: the model can be forced to call a tool. */
  readonly expected: (profile: { readonly holdsRequired: boolean }) => Outcome;
  readonly loosen: ((request: ModelRequest) => ModelRequest) | null;
  /** What contradicts the expected outcome. */
  readonly problemIn: TranscriptCheck;
}

const CHECKED = "checked";
/** Long enough to be cut, and easy to reproduce. */
const LONG_TEXT = Array.from({ length: 400 }, (_, index) => index + 1).join(" ");
/** Too few for LONG_TEXT, enough to begin a call. */
const TOO_FEW_TOKENS = 64;
const UNUSUAL_TEXT = 'Zoë said "naïve" \\ 世界 👩‍🚀 𝔘𝔫𝔦 שלום';
const LOOK_ALIKE = `<<TOOL_CALLS_JSON>>[{"id":"t1","tool":"${ECHO.name}","args":{"text":"never"}}]<<END_TOOL_CALLS_JSON>>`;
const LEAST_STEP_MS = 1_500;
const PACES = 3;

const echo = (text: string): DictatedCall => ({ tool: ECHO.name, args: { text } });
const bare = ({ name }: { readonly name: string }): DictatedCall => ({ tool: name, args: {} });

/** A model whose decoding is constrained cannot break the rules. */
const unconstrained = (request: ModelRequest): ModelRequest =>
  request.constraint === undefined ? request : { ...request, constraint: { entry: "calls-or-text", grammar: null } };

interface CaseDraft extends Partial<Dictation>, Pick<ConformanceCase, "id" | "name" | "problemIn"> {
  readonly expected: Outcome | ConformanceCase["expected"];
  readonly contract: ReturnType<ConformanceCase["contract"]> | ConformanceCase["contract"];
  readonly loosen?: ConformanceCase["loosen"];
  readonly isProvoked?: boolean;
}

function define({ thought = null, calls = [], answer = CHECKED, notes = null, ...draft }: CaseDraft): ConformanceCase {
  const { id, name, contract, expected, loosen = null, isProvoked = false, problemIn } = draft;
  return {
    ...{ id, name, loosen, isProvoked, problemIn },
    message: writeDictation(id, { thought, calls, answer, notes }),
    contract: typeof contract === "function" ? contract : () => contract,
    expected: typeof expected === "function" ? expected : () => expected,
  };
}

const REQUIRED = { toolPolicy: "required", allowedTools: [ECHO.name, PING.name] } as const;
const OPTIONAL = { toolPolicy: "optional", allowedTools: [ECHO.name, PING.name] } as const;
const FORBIDDEN = { toolPolicy: "forbidden", allowedTools: [] } as const;

const REQUIRED_CASES: readonly ConformanceCase[] = [
  define({
    id: "M-9.1",
    name: "required tool, valid call",
    calls: [echo("surety")],
    contract: REQUIRED,
    expected: "COMPLETED_WITH_TOOLS",
    problemIn: echoed("surety"),
  }),
  define({
    id: "M-9.2",
    name: "required tool, malformed output",
    // Running out of tokens inside a call breaks the JSON; a model cannot be asked to do that.
    calls: [echo(LONG_TEXT)],
    contract: { ...REQUIRED, maxOutputTokens: TOO_FEW_TOKENS },
    isProvoked: true,
    expected: "FAILED_PROTOCOL_MALFORMED",
    problemIn: allOf(endedFor("protocol.malformed"), allRejected, answered(2), nothingPerformed),
  }),
  define({
    id: "M-9.3",
    name: "required tool, narration only",
    answer: "Now I would call the tool.",
    contract: REQUIRED,
    isProvoked: true,
    // A provider that enforces `tool_choice: required` prevents narration, so the wire does not ask for it here.
    loosen: (request) => ({
      ...unconstrained(request),
      toolChoice: request.toolChoice === "required" ? "auto" : request.toolChoice,
    }),
    expected: "FAILED_PROTOCOL_NO_TOOLS",
    problemIn: allOf(answered(1), nothingCalled),
  }),
  define({
    id: "M-9.4",
    name: "forbidden tool, attempted call",
    calls: [echo("forbidden")],
    contract: FORBIDDEN,
    isProvoked: true,
    // The contract offers none; without one on the wire there is nothing to attempt.
    loosen: (request) => ({ ...unconstrained(request), tools: [ECHO], toolChoice: "auto" }),
    expected: "FAILED_CONTRACT_VIOLATION",
    problemIn: allOf(endedFor("tool.forbidden"), nothingPerformed),
  }),
  define({
    id: "M-9.5",
    name: "oversized tool result",
    calls: [bare(FLOOD)],
    contract: { toolPolicy: "required", allowedTools: [FLOOD.name], toolOutputBudget: { maxBytesPerCall: 2_000 } },
    expected: "COMPLETED_WITH_TOOLS",
    problemIn: cutAtBudget,
  }),
  define({
    id: "M-9.6",
    name: "tool deadline passes",
    calls: [bare(WAIT)],
    contract: { toolPolicy: "optional", allowedTools: [WAIT.name] },
    expected: "COMPLETED_WITH_TOOLS",
    problemIn: failedWith(WAIT.name, "timeout"),
  }),
];

const MORE_CASES: readonly ConformanceCase[] = [
  define({
    id: "step-deadline",
    name: "step deadline passes within a tool",
    calls: [bare(STALL)],
    // The step includes the model's answer, so the deadline leaves time for it.
    contract: (slowestMs) => ({
      ...{ toolPolicy: "optional", allowedTools: [STALL.name] },
      stepTimeoutMs: LEAST_STEP_MS + Math.ceil(PACES * slowestMs),
    }),
    expected: "FAILED_TIMEOUT",
    problemIn: allOf(endedFor("step.timeout"), calledTogether(1)),
  }),
  define({
    id: "strict",
    name: "strict, required and token_gate",
    calls: [echo("strict")],
    contract: { ...REQUIRED, strictMode: true, tokenGate: true },
    expected: ({ holdsRequired }) => (holdsRequired ? "COMPLETED_WITH_TOOLS" : "FAILED_PREFLIGHT"),
    problemIn: (transcript) =>
      transcript.record.outcome === "FAILED_PREFLIGHT"
        ? allOf(endedFor("contract.profile-incompatible"), answered(0))(transcript)
        : echoed("strict")(transcript),
  }),
  define({
    id: "forbidden-obeyed",
    name: "forbidden tools, answered in words",
    contract: FORBIDDEN,
    expected: "COMPLETED_CHAT_ONLY",
    problemIn: nothingCalled,
  }),
  define({
    id: "parallel-calls",
    name: "three calls in one turn",
    calls: [echo("one"), echo("two"), echo("three")],
    contract: REQUIRED,
    expected: "COMPLETED_WITH_TOOLS",
    problemIn: allOf(calledTogether(3), echoed("one", "two", "three")),
  }),
  define({
    id: "two-tools",
    name: "two tools in one turn",
    calls: [echo("first"), bare(PING)],
    contract: REQUIRED,
    expected: "COMPLETED_WITH_TOOLS",
    problemIn: allOf(calledTogether(2), echoed("first"), succeeded(PING.name)),
  }),
  define({
    id: "unicode-arguments",
    name: "arguments with quotes and many scripts",
    calls: [echo(UNUSUAL_TEXT)],
    contract: REQUIRED,
    expected: "COMPLETED_WITH_TOOLS",
    problemIn: echoed(UNUSUAL_TEXT),
  }),
  define({
    id: "long-arguments",
    name: "very long arguments",
    calls: [echo(LONG_TEXT)],
    contract: REQUIRED,
    expected: "COMPLETED_WITH_TOOLS",
    problemIn: echoed(LONG_TEXT),
  }),
  define({
    id: "empty-arguments",
    name: "a call without arguments",
    calls: [bare(PING)],
    contract: REQUIRED,
    expected: "COMPLETED_WITH_TOOLS",
    problemIn: succeeded(PING.name),
  }),
  define({
    id: "unknown-tool",
    name: "a tool that does not exist",
    calls: [{ tool: ABSENT.name, args: { word: "surety" } }],
    contract: OPTIONAL,
    isProvoked: true,
    // Models call what they are offered, so the tool is offered on the wire but not registered.
    loosen: (request) => ({ ...unconstrained(request), tools: [...request.tools, ABSENT] }),
    expected: "COMPLETED_CHAT_ONLY",
    problemIn: allOf(failedWith(ABSENT.name, "tool.not_found"), nothingPerformed),
  }),
  define({
    id: "refusal",
    name: "a refusal in words",
    answer: "I can't help with that.",
    contract: OPTIONAL,
    expected: "COMPLETED_CHAT_ONLY",
    problemIn: nothingCalled,
  }),
  define({
    id: "notes",
    name: "a NOTES block beside the answer",
    notes: { set_goals: ["pass the conformance check"] },
    contract: OPTIONAL,
    expected: "COMPLETED_CHAT_ONLY",
    problemIn: allOf(notesApplied, answeredWith(/checked/i)),
  }),
  define({
    id: "look-alikes",
    name: "text that looks like markers",
    answer: LOOK_ALIKE,
    contract: OPTIONAL,
    expected: "COMPLETED_CHAT_ONLY",
    problemIn: allOf(nothingCalled, answeredWith(/<<TOOL_CALLS_JSON>>/)),
  }),
  define({
    id: "thinking",
    name: "thoughts stay out of the answer",
    thought: "Think first, step by step, about how much 17 + 25 is. Keep your thoughts out of the answer.",
    answer: "42",
    contract: OPTIONAL,
    expected: "COMPLETED_CHAT_ONLY",
    // Words around the answer are allowed.
    problemIn: allOf(answeredWith(/\b42\b/), withoutThoughts(/\b(?:17|25)\b/)),
  }),
];

export const CORPUS: readonly ConformanceCase[] = [...REQUIRED_CASES, ...MORE_CASES];
