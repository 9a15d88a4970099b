/**
 * The execution contract (M-4.1): what one run is bound to, frozen before its first inference (M-B).
 *
 * Version 2.1 is the seed's literal document. Version 2.2 adds what the machine must be bound to as well: its own
 * version, the tools' digest, the policy, required effects and spend. Version 2.3 adds the governance state it was drafted
 * under and the form of a sub-agent's answer. `open-contract.ts` reads all three.
 */
import { type Static, Type } from "typebox";
import { ToolPolicySchema } from "../policy/tool-policy.ts";
import { MODEL_TIERS, TASK_TYPES } from "../vocabulary/model-tier.ts";
import { CHANNEL_CLASSES } from "../vocabulary/risk.ts";
import { Count, closed, HashSchema, nullable } from "../vocabulary/schema-primitives.ts";

/** Counts the changes of `step()` that would alter older journals: `machine/changes.ts` lists them. */
export const MACHINE_VERSION = 5;
/** Machines before this one refused a contract with a `summarizer_model`. */
export const SUMMARIZERS_SINCE = 3;

/** An effect the run must have proven before it may succeed: a tool pattern, and arguments that must match. */
const RequiredEffectSchema = Type.Object(
  { tool: Type.String({ minLength: 1 }), args: Type.Optional(Type.Record(Type.String(), Type.Unknown())) },
  closed,
);

/** Why the router chose this model (T-3a); absent when the request named it. */
export const RoutingSchema = Type.Object(
  { task: Type.Enum([...TASK_TYPES]), tier: Type.Enum([...MODEL_TIERS]), reason: Type.String({ maxLength: 1024 }) },
  closed,
);
export type Routing = Readonly<Static<typeof RoutingSchema>>;

export const SeedContractFields = {
  contractId: Type.String({ minLength: 1, maxLength: 128 }),
  parentContractHash: nullable(HashSchema),
  toolPolicy: Type.Enum(["required", "forbidden", "optional"]),
  allowedTools: nullable(Type.Array(Type.String({ minLength: 1 }))),
  strictMode: Type.Boolean(),
  maxInferences: Count,
  maxTokensConsumed: Count,
  maxFormatRetries: Count,
  stepTimeoutMs: Count,
  totalTimeoutMs: Count,
  contextBudget: Type.Object(
    { contextWindow: Count, reservedSystem: Count, reservedSynthesis: Count, forceSynthesisAtRatio: Type.Number() },
    closed,
  ),
  toolOutputBudget: Type.Object(
    { maxBytesPerCall: Count, truncationMarker: Type.String(), summarizerModel: nullable(Type.String()) },
    closed,
  ),
  adapterVersion: Type.String({ minLength: 1 }),
  modelProfileId: Type.String({ minLength: 1 }),
  grammarProfile: nullable(Type.String()),
  grammar: nullable(Type.String()),
  logitsMask: nullable(Type.Array(Type.Number())),
  tokenGate: Type.Boolean(),
  speculativeExec: Type.Boolean(),
  cycleForbid: Type.Array(Type.Tuple([Type.String(), Type.String()])),
};

/** Version 2.1 as it was sealed: the seed's document to the letter. */
export const SeedContractSchema = Type.Object(
  { ...SeedContractFields, toolPolicy: Type.Enum(["required", "forbidden"]), contractHash: HashSchema },
  closed,
);

const AddedContractFields = {
  machineVersion: Type.Integer({ minimum: 1 }),
  /** Digest of the registered tools; null only in a contract that came from version 2.1. */
  toolsDigest: nullable(HashSchema),
  model: Type.String({ minLength: 1 }),
  routing: Type.Optional(RoutingSchema),
  maxOutputTokens: Count,
  /** Millionths of a US dollar; null where no limit applies. */
  maxSpendMicrousd: nullable(Count),
  requiredEffects: Type.Array(RequiredEffectSchema),
  policy: ToolPolicySchema,
  channelClass: Type.Enum([...CHANNEL_CLASSES]),
  capabilities: Type.Array(Type.String()),
  /** Tools the operator approved for this run alone (`--approve`); void once the label latch is set. */
  approvedTools: Type.Array(Type.String()),
  /** 0 for a run a person started; a child has its parent's plus one. */
  depth: Count,
};

/** The parameters of governance (M-P4c), as they were when the contract was drafted. */
export const PolicyStateSchema = Type.Object(
  {
    retryTolerance: Type.Number({ minimum: 0, maximum: 1 }),
    stepLimitMultiplier: Type.Number({ exclusiveMinimum: 0 }),
    autonomyBias: Type.Number(),
    verbosityBias: Type.Number(),
    critiqueEnabled: Type.Boolean(),
  },
  closed,
);
export type PolicyState = Readonly<Static<typeof PolicyStateSchema>>;

const DraftedContractFields = {
  /** Null: drafted under none. */
  policyState: nullable(PolicyStateSchema),
  /** JSON Schema that a sub-agent's answer must fulfil (T-3b); null for ordinary runs. */
  outputSchema: nullable(Type.Record(Type.String(), Type.Unknown())),
};

export const ContractTermsSchema = Type.Object(
  { ...SeedContractFields, version: Type.Literal("2.3"), ...AddedContractFields, ...DraftedContractFields },
  closed,
);
/** A contract before it is sealed: everything except its own hash. */
export type ContractTerms = Static<typeof ContractTermsSchema>;

/** Version 2.2 as it was sealed. Its documents never say 2.1, though its schema was published so. */
export const EarlierContractSchema = Type.Object(
  { ...SeedContractFields, version: Type.Enum(["2.1", "2.2"]), ...AddedContractFields, contractHash: HashSchema },
  closed,
);

export const ExecutionContractSchema = Type.Object(
  { ...ContractTermsSchema.properties, contractHash: HashSchema },
  closed,
);
/** Of any version; those before 2.3 have no field of `DraftedContractFields`, as their hash covers none. */
export type ExecutionContract = Omit<Static<typeof ExecutionContractSchema>, "version" | DraftedField> & {
  version: "2.1" | "2.2" | "2.3";
} & Partial<Pick<ContractTerms, DraftedField>>;
type DraftedField = keyof typeof DraftedContractFields;
