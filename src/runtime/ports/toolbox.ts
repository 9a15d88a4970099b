/**
 * The registered tools, as the runtime plans and runs their calls.
 *
 * `plan` resolves the name, validates the arguments and inspects the world; it changes nothing. Its result is data for one
 * call and is made again after a restart. `run` executes the plan and looks nothing up again; it answers with a response
 * envelope (O-1.2), which the runtime parses as untrusted, and rejects only for a defect. When the signal aborts, the work
 * ends within the machine's grace period and `run` settles.
 */
import type { HoneypotFacts } from "../../kernel/policy/honeypot.ts";
import type { CallPlan } from "../../kernel/policy/plan.ts";
import type { Hash, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { ChannelClass, IdempotencyClass, RiskClass } from "../../kernel/vocabulary/risk.ts";
import type { ToolError } from "../../kernel/vocabulary/tool-envelope.ts";
import type { ToolOffer } from "./model-backend.ts";

export type Arguments = Readonly<Record<string, JsonValue>>;

export interface RegisteredTool extends ToolOffer {
  readonly risk: RiskClass;
}

/** Whether an approver could undo the call; `how` says how, or why not. */
export interface Reversal {
  readonly kind: "reversible" | "irreversible" | "unknown";
  readonly how: string;
}

/** The message that a call would send, as the honeypot exception checks it. Without a template there is no id. */
export type SendFacts = Omit<HoneypotFacts, "sentLastHour" | "templateId"> & { readonly templateId: string | null };

/** What one call would do, before it is decided. */
export interface Planned {
  readonly ok: true;
  /** The registered name, aliases resolved; its arguments mapped, defaults filled in. */
  readonly tool: string;
  readonly args: Arguments;
  readonly risk: RiskClass;
  readonly idempotency: IdempotencyClass;
  readonly pollable: boolean;
  /** Fields of its output that vary by nature, such as durations; results are compared without them. */
  readonly volatileFields: readonly string[];
  readonly timeoutMs: number;
  /** Hosts that it would reach. */
  readonly egress: readonly string[];
  /** The tool's name does not say what the call does, so no rule for the tool allows it without asking. */
  readonly asksAlways: boolean;
  /** Everything that determines the effect; the runtime adds who asks, and hashes it. */
  readonly plan: Pick<CallPlan, "argv" | "cwd" | "environmentHash" | "executable" | "scriptHashes" | "targets">;
  /** The text for the approver, never shortened. */
  readonly shown: string;
  readonly reversal: Reversal;
  /** The text that a file has now, of the bytes that the plan binds. Absent: none, or too long to compare. */
  readonly replaces?: string;
  /** Null unless it sends a message. */
  readonly send: SendFacts | null;
  /** Of the call's result. */
  readonly labels: Labels;
  /** Not null for a delegated run: its agent and its message. */
  readonly delegation: { readonly agent: string; readonly message: string } | null;
}

export interface Unplannable {
  readonly ok: false;
  readonly tool: string;
  readonly error: ToolError;
}

/** The run that makes a call. */
export interface AskingRun {
  readonly runId: RunId;
  readonly agentId: string;
  readonly sessionId: SessionId;
  readonly channelClass: ChannelClass;
}

export interface CallContext {
  readonly requestId: string;
  readonly runId: string;
  readonly agentId: string;
  /** Absent: the call is in no run. `entry` holds the call's intent. */
  readonly by?: AskingRun & { readonly entry: number };
  readonly timeoutMs: number;
  /** The same for every repeat of one call; null unless the tool is `keyed`. */
  readonly idempotencyKey: Hash | null;
  /** A crash came between intent and result, so the call may have been performed already. */
  readonly isRepeat: boolean;
  /** False: the plan has changed since the decision. The tool may report whether the call was performed, but must not act. */
  readonly mayAct: boolean;
  /** The labels of the context that proposed the call; they pass to everything it writes. */
  readonly seen: Labels;
  readonly signal: AbortSignal;
  /** Gets output while the call runs, for live display only. Null when nothing is watching. */
  readonly onOutput: ((text: string, stream: OutputStream) => void) | null;
}

export type OutputStream = "stdout" | "stderr";

export interface Toolbox {
  /** Covers name, schema, risk and idempotency of every tool; a contract pins it. */
  readonly digest: Hash;
  readonly tools: readonly RegisteredTool[];
  /** `by` is absent for a call that is in no run. */
  plan(tool: string, args: Arguments, by?: AskingRun): Promise<Planned | Unplannable>;
  run(planned: Planned, context: CallContext): Promise<unknown>;
  /** One line about the result of a call, for display. */
  summarize(call: {
    readonly tool: string;
    readonly args: Readonly<Record<string, unknown>>;
    readonly ok: boolean;
    readonly output: unknown;
  }): string;
}
