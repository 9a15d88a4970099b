/** Operations that forget. There is no other way to delete what was said and done. */
import { Type } from "typebox";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { Count, closed, RunIdSchema } from "../../kernel/vocabulary/schema-primitives.ts";
import { RunIdInput } from "../../runtime/operations/input-schemas.ts";
import { operationsOver, type Refusal, type Result } from "../../runtime/operations/operation.ts";
import type { Forgotten } from "./erasure.ts";

export interface ErasureServices {
  readonly erasure: {
    forgetRun(runId: RunId, principal: string): Promise<Forgotten | Refusal>;
    forgetSession(sessionId: SessionId, principal: string): Promise<Forgotten | Refusal>;
  };
  /** Files of the home that may hold a copy, and that nothing here may touch. */
  readonly earlierDatabases: () => Promise<readonly string[]>;
}

const ForgottenSchema = Type.Object({
  /** With what went with them: children, and summaries made of them. */
  runs: Type.Array(RunIdSchema),
  texts: Count,
  /** False: the rest follows when the home is opened again. */
  is_complete: Type.Boolean(),
  /** Where copies may be that Surety does not reach. */
  not_reached: Type.Array(Type.String()),
});

const SessionIdInput = Type.Unsafe<SessionId>(Type.String({ pattern: "^[\\w-]{1,128}$" }));

const { json } = operationsOver<ErasureServices>();

export const erasureOperations = [
  json({
    name: "runs.forget",
    method: "DELETE",
    path: "/v1/runs/{id}",
    scope: "operate",
    summary: "removes the content of an ended run for good: its chain still verifies, and shows `erased`",
    input: Type.Object({ id: RunIdInput }, closed),
    output: ForgottenSchema,
    call: async ({ erasure, earlierDatabases }, { id }, { principal }) =>
      wireForgotten(await erasure.forgetRun(id, principal), await earlierDatabases()),
  }),
  json({
    name: "sessions.forget",
    method: "DELETE",
    path: "/api/sessions/{id}",
    scope: "operate",
    summary: "removes all that was said in a session for good, and takes it out of the lists; its runs stay, erased",
    input: Type.Object({ id: SessionIdInput }, closed),
    output: ForgottenSchema,
    call: async ({ erasure, earlierDatabases }, { id }, { principal }) =>
      wireForgotten(await erasure.forgetSession(id, principal), await earlierDatabases()),
  }),
] as const;

const NOT_REACHED = [
  "backups and exported bundles",
  "files that tools wrote or deleted in the workspace",
  "what model providers and channels were sent",
];

function wireForgotten(
  forgotten: Forgotten | Refusal,
  databases: readonly string[],
): Result<{ runs: RunId[]; texts: number; is_complete: boolean; not_reached: string[] }> {
  if (!forgotten.ok) return forgotten;
  const { runs, texts, isComplete } = forgotten;
  return {
    ok: true,
    value: { runs: [...runs], texts, is_complete: isComplete, not_reached: [...NOT_REACHED, ...databases] },
  };
}
