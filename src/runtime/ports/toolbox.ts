/**
 * The registered tools, as the runtime plans and runs calls of them.
 *
 * T1. `plan` resolves the name, validates the arguments and looks at the world; it changes nothing.
 * T2. `run` executes what was planned and looks nothing up again. It answers with a response envelope (O-1.2), which
 *     the runtime still reads as foreign; it rejects only for a defect.
 * T3. When the signal aborts, the work ends within the machine's grace, and `run` settles.
 *     What takes a few microseconds is done at once, and what waits for something later.
 * T4. What `plan` returned is data for one call; after a restart it is made anew from the same arguments.
 */
import type { HoneypotFacts } from "../../kernel/policy/honeypot.ts";
import type { CallPlan } from "../../kernel/policy/plan.ts";
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { IdempotencyClass, RiskClass } from "../../kernel/vocabulary/risk.ts";
import type { ToolError } from "../../kernel/vocabulary/tool-envelope.ts";
import type { ToolOffer } from "./model-backend.ts";

export type Arguments = Readonly<Record<string, JsonValue>>;

export interface RegisteredTool extends ToolOffer {
  readonly risk: RiskClass;
}

/** Can what is done be taken back? `how` completes the sentence for an approver. */
export interface Reversal {
  readonly kind: "reversible" | "irreversible" | "unknown";
  readonly how: string;
}

/** A message a call would send: what the honeypot exception asks about it. Without a template it has no id. */
export type SendFacts = Omit<HoneypotFacts, "sentLastHour" | "templateId"> & { readonly templateId: string | null };

/** What one call would do, before anybody decided about it. */
export interface Planned {
  readonly ok: true;
  /** The registered name, aliases resolved; its arguments mapped, defaults filled in. */
  readonly tool: string;
  readonly args: Arguments;
  readonly risk: RiskClass;
  readonly idempotency: IdempotencyClass;
  readonly pollable: boolean;
  readonly timeoutMs: number;
  /** Hosts it would reach. */
  readonly egress: readonly string[];
  /** What it does cannot be known from its tool: no rule about the tool allows it outright. */
  readonly asksAlways: boolean;
  /** What decides what will happen; the runtime adds who asks, and hashes it. */
  readonly plan: Pick<CallPlan, "argv" | "cwd" | "environmentHash" | "executable" | "scriptHashes" | "targets">;
  /** What an approver reads: never shortened. */
  readonly shown: string;
  readonly reversal: Reversal;
  /** Null unless it sends a message. */
  readonly send: SendFacts | null;
  /** Of what the call will bring back. */
  readonly labels: Labels;
  /** A run of its own instead of a tool: what it is asked to do, and by which agent. */
  readonly delegation: { readonly agent: string; readonly message: string } | null;
}

export interface Unplannable {
  readonly ok: false;
  readonly tool: string;
  readonly error: ToolError;
}

export interface CallContext {
  readonly requestId: string;
  readonly runId: string;
  readonly agentId: string;
  readonly timeoutMs: number;
  /** The same for every repeat of one call; null where the tool takes none. */
  readonly idempotencyKey: Hash | null;
  /** A crash came between intent and result: what is asked for may have been done already. */
  readonly isRepeat: boolean;
  /** False: the world is no longer as it was when the call was decided about. Say whether it was done; do nothing. */
  readonly mayAct: boolean;
  /** The labels of the context that proposed the call: what is written is made of what was seen. */
  readonly seen: Labels;
  readonly signal: AbortSignal;
  /** Hears what the call prints while it works; what it is told is shown live and kept nowhere. Null: nobody listens. */
  readonly onOutput: ((text: string, stream: OutputStream) => void) | null;
}

export type OutputStream = "stdout" | "stderr";

export interface Toolbox {
  /** Covers name, schema, risk and promise of every tool: a contract pins it. */
  readonly digest: Hash;
  readonly tools: readonly RegisteredTool[];
  plan(tool: string, args: Arguments): Promise<Planned | Unplannable>;
  run(planned: Planned, context: CallContext): Promise<unknown>;
  /** A short line about what became of a call, for display. */
  summarize(call: {
    readonly tool: string;
    readonly args: Readonly<Record<string, unknown>>;
    readonly ok: boolean;
    readonly output: unknown;
  }): string;
}
