/**
 * The boundary between what a model wrote and what the runtime acts on (M-A, M-4.2): a canonical message or a named
 * refusal, never a guess.
 *
 * A1. `adapt` is a function of its arguments: same version, same mode, same raw hash, same result (M-P2a).
 * A2. Strict mode knows `native` and `rejected`. Lenient mode may answer `recovered`, for these faults and no others,
 *     and `failureCode` then names the one that strict mode would have rejected the answer for:
 *       protocol.fenced-block      a code fence around the array inside the TOOL_CALLS block is taken off
 *       protocol.missing-id        calls without an id get `call_1`, `call_2` …, skipping ids that are taken
 *       protocol.invalid-id        so do calls under an id that could hold prose (`CALL_ID_PATTERN`)
 *       protocol.empty-arguments   empty native arguments are read as {}
 * A3. The message's content is the text a user may see: inline reasoning and blocks are gone from it. Calls keep the
 *     proposed order.
 * A4. Nothing of a rejected answer survives: no call, no text, no notes.
 */
import type { Hash } from "../vocabulary/identifiers.ts";
import type { AgentMessage } from "../vocabulary/message.ts";
import type { Notes } from "./notes.ts";
import type { ProtocolFailure } from "./protocol-failure.ts";
import type { RawModelOutput } from "./raw-model-output.ts";

export type AdapterMode = "strict" | "lenient";

interface AdapterDecision {
  readonly rawHash: Hash;
  readonly adapterVersion: string;
}

export interface NativeResult extends AdapterDecision {
  readonly status: "native";
  readonly canonicalMessage: AgentMessage;
  readonly failureCode: null;
  readonly notes: Notes | null;
}

export interface RecoveredResult extends AdapterDecision {
  readonly status: "recovered";
  readonly canonicalMessage: AgentMessage;
  readonly failureCode: ProtocolFailure;
  readonly notes: Notes | null;
}

export interface RejectedResult extends AdapterDecision {
  readonly status: "rejected";
  readonly canonicalMessage: null;
  readonly failureCode: ProtocolFailure;
  readonly notes: null;
}

export type ProtocolAdapterResult = NativeResult | RecoveredResult | RejectedResult;

export interface ProtocolAdapter {
  /** Changes whenever the same raw output could be read otherwise; contracts and journals name it. */
  readonly version: string;
  adapt(raw: RawModelOutput, mode: AdapterMode): ProtocolAdapterResult;
}
