/**
 * What the outside may ask of the assistant: the one door for HTTP, the command line and, later, every channel.
 *
 * A1. Who asks is said by the door that authenticated them (`principal`), never by the message.
 * A2. A refusal is a value with a code and a sentence that says what to do; it leaves nothing behind.
 * A3. A submission that was accepted is durable: it will end in an outcome, whatever happens to the process.
 */
import type { LifecycleEvent } from "../kernel/journal/views/lifecycle-events.ts";
import type { RunRecord } from "../kernel/journal/views/run-record.ts";
import type { ApprovalId, Hash, RunId, SessionId } from "../kernel/vocabulary/identifiers.ts";
import type { ThinkingLevel } from "../kernel/vocabulary/thinking-level.ts";
import type { CapabilityDecision } from "../runtime/capabilities/capabilities.ts";
import type { SessionCapabilities } from "../runtime/capabilities/stored-capabilities.ts";
import type { ImageType } from "../runtime/model/image-facts.ts";
import type { ApprovalCard } from "../runtime/ports/approver.ts";
import type { Page, RunStatus, SessionCapability } from "../runtime/ports/store.ts";
import type { ToolOutput } from "../runtime/tools/release-output.ts";

/** Terms a caller may set for one run, within its agent's ceilings; M-4.1's names in camelCase. */
export interface ContractOverrides {
  readonly toolPolicy?: "required" | "forbidden" | "optional";
  readonly allowedTools?: readonly string[];
  readonly strictMode?: boolean;
  readonly tokenGate?: boolean;
  readonly maxInferences?: number;
  readonly maxTokensConsumed?: number;
  readonly maxOutputTokens?: number;
  readonly maxFormatRetries?: number;
  readonly maxSpendMicrousd?: number;
  readonly stepTimeoutMs?: number;
  readonly totalTimeoutMs?: number;
  readonly requiredEffects?: readonly { readonly tool: string; readonly args?: Readonly<Record<string, unknown>> }[];
  readonly cycleForbid?: readonly (readonly [string, string])[];
  readonly contextBudget?: {
    readonly contextWindow?: number;
    readonly reservedSystem?: number;
    readonly reservedSynthesis?: number;
    readonly forceSynthesisAtRatio?: number;
  };
  readonly toolOutputBudget?: {
    readonly maxBytesPerCall?: number;
    readonly truncationMarker?: string;
    readonly summarizerModel?: string;
  };
  /** Whether a model can hold these is for preflight to say. */
  readonly grammarProfile?: string;
  readonly grammar?: string;
  readonly logitsMask?: readonly number[];
  readonly speculativeExec?: boolean;
}

/** Something that came with a message, whichever channel brought it. */
export interface MediaItem {
  readonly type: "image";
  readonly mimeType: ImageType;
  /** Base64. */
  readonly data: string;
}

export interface RunRequest {
  readonly agentId: string;
  readonly message: string;
  /** Absent: none. */
  readonly media?: readonly MediaItem[];
  /** Null: a session of its own. */
  readonly sessionId: SessionId | null;
  /** `provider:model`; null: the agent's, or the default. */
  readonly model: string | null;
  /** Null: as configured. */
  readonly thinkingMode: "never" | "on_error" | "always" | null;
  /** How much the model is to think; absent: as its agent or the model itself is configured. */
  readonly thinkingLevel?: ThinkingLevel;
  readonly contract: ContractOverrides;
  /** Tools the operator approves for this run alone. */
  readonly approvedTools: readonly string[];
  /** Whoever sent it waits for its end and cannot be asked, nor wants others to be: what needs an approval is denied. */
  readonly isUnattended?: true;
  readonly source: string;
  readonly principal: string;
  readonly idempotencyKey: string | null;
}

export type RefusalCode =
  | "invalid.request"
  | "not_found"
  | "conflict"
  | "queue.full"
  | "payload.too_large"
  | "auth.forbidden"
  | "store.unavailable"
  | "internal.error";

export interface Refusal {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly message: string;
}

export type Submission =
  | {
      readonly ok: true;
      readonly runId: RunId;
      readonly sessionId: SessionId;
      readonly status: RunStatus;
      /** The same idempotency key was accepted before; this is that run. */
      readonly isRepeat: boolean;
    }
  | Refusal;

/** What a watcher of a run hears: recorded events, and text as it is written (live only). */
export type RunUpdate =
  | { readonly kind: "event"; readonly event: LifecycleEvent }
  /** Text of an attempt that was given up is dropped by whoever shows it, when `attempt` changes. */
  | { readonly kind: "delta"; readonly attempt: number; readonly offset: number; readonly text: string }
  /** What a tool prints while it works. */
  | ({ readonly kind: "output" } & ToolOutput)
  /** The provider failed, and asked not to be tried again before so long. */
  | { readonly kind: "wait"; readonly code: string; readonly waitMs: number };

export interface Decision {
  readonly id: ApprovalId;
  /** `allow`, `deny` answer `approve`; the others `resolve`. */
  readonly decision: "allow" | "deny" | "done" | "retry" | "fail";
  /** The plan the approver was shown. */
  readonly planHash: Hash;
  readonly principal: string;
}

export interface CapabilitiesShown {
  readonly ok: true;
  readonly capabilities: SessionCapabilities;
}

export interface Assistant {
  submit(request: RunRequest): Promise<Submission>;
  /** Null when there is no such run. */
  run(runId: RunId): Promise<RunRecord | null>;
  /** Newest first; records without their traces. */
  runs(
    filter: { readonly status?: RunStatus } & Page,
  ): Promise<{ readonly runs: readonly RunRecord[]; readonly total: number }>;
  /** From the event after `afterSeq` on, to the terminal one. Null when there is no such run. */
  watch(runId: RunId, afterSeq: number, signal: AbortSignal): Promise<AsyncIterable<RunUpdate> | null>;
  cancel(runId: RunId, principal: string): Promise<{ readonly ok: true; readonly status: RunStatus } | Refusal>;
  /** The signed bundle of an ended run, as text. */
  bundle(runId: RunId): Promise<{ readonly ok: true; readonly text: string } | Refusal>;
  approvals(page: Page): Promise<readonly ApprovalCard[]>;
  decide(decision: Decision): Promise<{ readonly ok: true } | Refusal>;
  capabilities(sessionId: SessionId): Promise<CapabilitiesShown | Refusal>;
  /** What all sessions ask for, the longest waiting first. */
  pendingCapabilities(page: Page): Promise<readonly SessionCapability[]>;
  /** What the session has after it. */
  decideCapability(decision: CapabilityDecision): Promise<CapabilitiesShown | Refusal>;
  /** What an untrusted context wrote: paths from the workspace down; `.` is the whole of it. */
  marks(): Promise<readonly string[]>;
  /** What is there counts as the user's own from then on. */
  removeMark(path: string, principal: string): Promise<{ readonly ok: true } | Refusal>;
}
