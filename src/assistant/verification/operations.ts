/** Operations on what is recorded of runs: entries for readers that check them, replay, what-if (M-D, X-4). */
import { Type } from "typebox";
import { BundleSchema } from "../../kernel/journal/bundle.ts";
import { HASH_PATTERN } from "../../kernel/vocabulary/hash.ts";
import {
  BodyRefSchema,
  Count,
  closed,
  HashSchema,
  nullable,
  RunIdSchema,
} from "../../kernel/vocabulary/schema-primitives.ts";
import { toWire } from "../../kernel/vocabulary/wire-case.ts";
import { RunIdInput } from "../../runtime/operations/input-schemas.ts";
import { operationsOver } from "../../runtime/operations/operation.ts";
import type { OtherDecision } from "../../runtime/run/replay-run.ts";
import type { RecordedRuns } from "./recorded-runs.ts";

export interface VerificationServices {
  readonly recorded: Pick<RecordedRuns, "entries" | "replay" | "whatIf" | "testPolicy">;
}

const DEFAULT_ENTRIES = 200;
const MAX_ENTRIES = 500;
const DEFAULT_TESTED_RUNS = 500;
const MAX_TESTED_RUNS = 5_000;
/** More are counted, and not listed. */
const MAX_LISTED_CALLS = 1_000;

const ById = Type.Object({ id: RunIdInput }, closed);
const Decision = Type.Enum(["allow", "approve", "deny"]);
const PolicyInput = Type.Unsafe<unknown>(Type.Object({}));

const decidedCall = {
  entry: Count,
  call_id: Type.String(),
  tool: Type.String(),
  /** What became of the call. */
  recorded: Type.Enum(["allow", "deny"]),
  /** What the policy of that moment said, and what the other says. */
  policy_then: Decision,
  now: Decision,
  rule: Type.String(),
  /** Another decision than the recorded one, and not because the policy only asks again. */
  changed: Type.Boolean(),
};

const { json } = operationsOver<VerificationServices>();

export const verificationOperations = [
  json({
    name: "runs.entries",
    method: "GET",
    path: "/v1/runs/{id}/entries",
    scope: "operate",
    summary:
      "lists a run's journal entries with contract, bodies and the state digest, for readers that verify and fold them; `?after=` a seq, `?limit=` (200, at most 500)",
    input: Type.Object(
      {
        id: RunIdInput,
        after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_ENTRIES, default: DEFAULT_ENTRIES })),
      },
      closed,
    ),
    output: Type.Object({
      run_id: RunIdSchema,
      /** The sealed contract; only with the first page. */
      contract: Type.Unknown(),
      /** As in the journal file. */
      entries: Type.Array(Type.Unknown()),
      /** As in a bundle: those that these entries name. */
      bodies: BundleSchema.properties.bodies,
      /** Bodies that these entries name and that are not there. */
      erased: Type.Array(BodyRefSchema),
      seq: Count,
      digest: HashSchema,
      total: Count,
      is_ended: Type.Boolean(),
      /** The first entry that cannot be read: nothing follows it. */
      damage: nullable(Type.Object({ entry: Count, problem: Type.String() })),
    }),
    async call({ recorded }, { id, after = 0, limit = DEFAULT_ENTRIES }) {
      const read = await recorded.entries(id, after, limit);
      if (!read.ok) return read;
      const { page, contract, isEnded } = read;
      return {
        ok: true,
        value: {
          run_id: id,
          contract: after === 0 ? contract : null,
          entries: page.entries.map((entry) => toWire(entry)),
          bodies: Object.fromEntries(page.bodies),
          erased: [...page.erased],
          ...{ seq: page.seq, digest: page.digest, total: page.total, is_ended: isEnded, damage: page.damage },
        },
      };
    },
  }),
  json({
    name: "runs.replay",
    method: "POST",
    path: "/v1/runs/{id}/replay",
    scope: "operate",
    summary: "replays a recorded run from its journal, with no network: same outcome, same head?",
    input: ById,
    output: Type.Object({
      run_id: RunIdSchema,
      reproduced: Type.Boolean(),
      outcome: nullable(Type.String()),
      head_hash: Type.String({ pattern: HASH_PATTERN }),
      recorded_head_hash: nullable(HashSchema),
      diverged_at: nullable(Count),
    }),
    async call({ recorded }, { id }) {
      const read = await recorded.replay(id);
      if (!read.ok) return read;
      const { isReproduced, outcome, headHash, recordedHead, divergedAt } = read.replayed;
      return {
        ok: true,
        value: {
          ...{ run_id: id, reproduced: isReproduced, outcome, head_hash: headHash },
          ...{ recorded_head_hash: recordedHead, diverged_at: divergedAt },
        },
      };
    },
  }),
  json({
    name: "runs.what-if",
    method: "POST",
    path: "/v1/runs/{id}/what-if",
    scope: "operate",
    summary:
      "puts another policy (`{policy}`: a `tools.policy` object) to the recorded calls of a run; changes nothing",
    input: Type.Object({ id: RunIdInput, policy: PolicyInput }, closed),
    output: Type.Object({ run_id: RunIdSchema, calls: Type.Array(Type.Object(decidedCall)), changed: Count }),
    async call({ recorded }, { id, policy }) {
      const read = await recorded.whatIf(id, policy);
      if (!read.ok) return read;
      const calls = read.calls.map(wireDecision);
      return { ok: true, value: { run_id: id, calls, changed: calls.filter(({ changed }) => changed).length } };
    },
  }),
  json({
    name: "policy.test",
    method: "POST",
    path: "/api/policy/test",
    scope: "operate",
    summary:
      "puts another policy (`{policy, limit}`) to the calls of the newest recorded runs (500, at most 5000); lists those it decides otherwise",
    isCancellable: true,
    input: Type.Object(
      { policy: PolicyInput, limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_TESTED_RUNS })) },
      closed,
    ),
    output: Type.Object({
      runs: Count,
      /** Recorded calls looked at. */
      total: Count,
      changed: Count,
      /** Calls that asked, and would not any more; and the other way round. */
      stops_asking: Count,
      starts_asking: Count,
      calls: Type.Array(Type.Object({ run_id: Type.String(), ...decidedCall })),
      unreadable: Type.Array(Type.String()),
      /** False where `limit` left runs out. */
      complete: Type.Boolean(),
    }),
    async call({ recorded }, { policy, limit = DEFAULT_TESTED_RUNS }, { signal }) {
      const tested = await recorded.testPolicy(policy, limit, signal);
      if (!tested.ok) return tested;
      const { runs, calls: total, otherwise, unreadable, isComplete: complete } = tested.test;
      const calls = otherwise.flatMap(({ runId, others }) =>
        others.map((other) => ({ run_id: runId, ...wireDecision(other) })),
      );
      const count = (fits: (call: (typeof calls)[number]) => boolean): number => calls.filter(fits).length;
      return {
        ok: true,
        value: {
          ...{ runs, total, changed: count(({ changed }) => changed) },
          stops_asking: count(({ policy_then, now }) => policy_then === "approve" && now !== "approve"),
          starts_asking: count(({ policy_then, now }) => policy_then !== "approve" && now === "approve"),
          ...{ calls: calls.slice(0, MAX_LISTED_CALLS), unreadable: [...unreadable], complete },
        },
      };
    },
  }),
] as const;

function wireDecision({ entry, callId, tool, recorded, then, now, policyId, isChanged }: OtherDecision) {
  return { entry, call_id: callId, tool, recorded, policy_then: then, now, rule: policyId, changed: isChanged };
}
