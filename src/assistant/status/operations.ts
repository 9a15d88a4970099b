/** How the home is (O-6.2): what runs, on what, and what needs attention. */
import { type Static, Type } from "typebox";
import { Count, nullable, RunIdSchema } from "../../kernel/vocabulary/schema-primitives.ts";
import { Nothing } from "../../runtime/operations/input-schemas.ts";
import { operationsOver } from "../../runtime/operations/operation.ts";
import { RUN_STATUSES } from "../../runtime/ports/store.ts";

export interface StatusServices {
  readonly status: () => Promise<HomeStatus>;
}

const Text = Type.String();

const StatusSchema = Type.Object({
  version: Text,
  started_at: Text,
  uptime_s: Count,
  model: Type.Object({
    /** Null: there is none that a run could take. */
    ref: nullable(Text),
    provider: nullable(Text),
    /** Why a run cannot begin with it; null: nothing is known to be wrong. `POST /api/models/check` asks the provider. */
    problem: nullable(Text),
  }),
  providers: Type.Array(
    Type.Object({ id: Text, enabled: Type.Boolean(), key_present: Type.Boolean(), problem: nullable(Text) }),
  ),
  /** The latest. */
  runs: Type.Array(
    Type.Object({
      id: RunIdSchema,
      agent_id: Text,
      session_id: Text,
      status: Type.Enum([...RUN_STATUSES]),
      outcome: nullable(Text),
      model: Text,
      created_at: Text,
    }),
  ),
  queue: Type.Object({ queued: Count, running: Count, waiting_approval: Count, max: Count, workers: Count }),
  store: Type.Object({ bytes: Count }),
  /** Of commands; `missing` says what to install. */
  sandbox: Type.Object({ ready: Type.Boolean(), missing: Type.Array(Text) }),
  channels: Type.Array(Type.Object({ name: Text, kind: Text, class: Text })),
  /** Written in the config, and without effect until the next start. */
  restart_required: Type.Array(Text),
  /** `code` is for programs; `message` says what is wrong and what to do. */
  attention: Type.Array(Type.Object({ code: Text, message: Text })),
});
export type HomeStatus = Static<typeof StatusSchema>;

const { json } = operationsOver<StatusServices>();

export const statusOperations = [
  json({
    name: "admin.status",
    method: "GET",
    path: "/api/admin/status",
    scope: "admin",
    summary:
      "shows how the home is: latest runs, model and providers, queue, store, sandbox, channels, what waits for a restart and what needs attention",
    input: Nothing,
    output: StatusSchema,
    call: async ({ status }) => ({ ok: true, value: await status() }),
  }),
] as const;
