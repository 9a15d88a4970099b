/** Operations on the configured models: what there is, whether one can be asked, how it behaves under contract (M-9). */
import { type Static, Type } from "typebox";
import { MODEL_TIERS } from "../../kernel/vocabulary/model-tier.ts";
import { Count, closed, nullable } from "../../kernel/vocabulary/schema-primitives.ts";
import { Name, Nothing } from "../../runtime/operations/input-schemas.ts";
import { operationsOver, type Result } from "../../runtime/operations/operation.ts";

export interface ModelServices {
  readonly models: ModelAdministration;
  readonly conformance: Conformance;
}

export interface Conformance {
  /** Null: the default model. Answers when the corpus has begun. */
  start(model: string | null): Result<ConformanceRun>;
  state(): Promise<ConformanceState>;
}

export interface ModelAdministration {
  list(): Promise<ModelList>;
  /** Null: the default model. */
  check(model: string | null, signal: AbortSignal | undefined): Promise<Result<ModelCheck>>;
}

const Text = Type.String();
const Price = nullable(Type.Number({ minimum: 0 }));

const ProviderSchema = Type.Object({
  id: Text,
  kind: Text,
  enabled: Type.Boolean(),
  local: Type.Boolean(),
  base_url: nullable(Text),
  /** The variable that holds its key. */
  key_variable: Text,
  key_present: Type.Boolean(),
  /** The line to add where a key is missing, and the file it belongs into. */
  missing: nullable(Type.Object({ line: Text, file: Text })),
});

const ConformanceSchema = Type.Object({
  at: Text,
  passed: Count,
  failed: Count,
  failures: Type.Array(Type.Object({ id: Text, expected: Text, outcome: Text, problem: nullable(Text) })),
});

const ModelSchema = Type.Object({
  /** `provider:model`. */
  model: Text,
  provider: Text,
  default: Type.Boolean(),
  kind: Text,
  profile: Text,
  context_window: Count,
  max_output_tokens: Count,
  supports_tools: Type.Boolean(),
  supports_streaming: Type.Boolean(),
  supports_vision: Type.Boolean(),
  /** Can it be forced to call a tool? Null while it cannot be used. */
  holds_required: nullable(Type.Boolean()),
  tier: nullable(Type.Enum([...MODEL_TIERS])),
  cost_per_1k_input: Price,
  cost_per_1k_output: Price,
  free: Type.Boolean(),
  conformance: nullable(ConformanceSchema),
  problem: nullable(Text),
});

const ListSchema = Type.Object({
  /** The model of a run that names none; null: `default_problem` says why there is none. */
  default: nullable(Text),
  default_problem: nullable(Text),
  providers: Type.Array(ProviderSchema),
  models: Type.Array(ModelSchema),
});
export type ModelList = Static<typeof ListSchema>;
export type ModelRow = Static<typeof ModelSchema>;

const CheckSchema = Type.Object({
  model: Text,
  ok: Type.Boolean(),
  /** What was found, or what to correct. */
  detail: Text,
  latency_ms: Count,
});
export type ModelCheck = Static<typeof CheckSchema>;

const RunSchema = Type.Object({ model: Text, started_at: Text, done: Count, total: Count });
export type ConformanceRun = Static<typeof RunSchema>;

const StateSchema = Type.Object({
  running: nullable(RunSchema),
  /** The last one that ended in this process; `problem` says why the corpus was cut short. */
  last: nullable(Type.Object({ model: Text, ended_at: Text, problem: nullable(Text) })),
  /** The newest of each model. */
  reports: Type.Array(
    Type.Object({
      model: Text,
      at: Text,
      passed: Count,
      failed: Count,
      cases: Type.Array(
        Type.Object({
          id: Text,
          name: Text,
          expected: Text,
          outcome: Text,
          passed: Type.Boolean(),
          problem: nullable(Text),
        }),
      ),
    }),
  ),
});
export type ConformanceState = Static<typeof StateSchema>;

const { json } = operationsOver<ModelServices>();

export const modelOperations = [
  json({
    name: "models.list",
    method: "GET",
    path: "/api/models",
    scope: "operate",
    summary:
      "lists the configured providers and models: profile, tier, limits, prices, whether the key is there, conformance",
    hasEtag: true,
    input: Nothing,
    output: ListSchema,
    call: async ({ models }) => ({ ok: true, value: await models.list() }),
  }),
  json({
    name: "models.check",
    method: "POST",
    path: "/api/models/check",
    scope: "operate",
    summary:
      "asks the provider of `{model}` (default: the default model) whether the model is there and accepts the key; no completion is made",
    isCancellable: true,
    input: Type.Object({ model: Type.Optional(Name) }, closed),
    output: CheckSchema,
    call: ({ models }, { model = null }, { signal }) => models.check(model, signal),
  }),
  json({
    name: "models.conformance",
    method: "GET",
    path: "/api/models/conformance",
    scope: "operate",
    summary: "shows which cases of the conformance corpus each model passed, and how far the corpus is that runs now",
    hasEtag: true,
    input: Nothing,
    output: StateSchema,
    call: async ({ conformance }) => ({ ok: true, value: await conformance.state() }),
  }),
  json({
    name: "models.conformance.run",
    method: "POST",
    path: "/api/models/conformance",
    scope: "admin",
    summary:
      "runs the conformance corpus against `{model}` (default: the default model), one at a time; it costs what its runs cost",
    status: 202,
    input: Type.Object({ model: Type.Optional(Name) }, closed),
    output: RunSchema,
    call: ({ conformance }, { model = null }) => conformance.start(model),
  }),
] as const;
