/**
 * The table of operations, and the one interface to it: in process here, over HTTP in the gateway's client. A command
 * does not know which of the two it has.
 */
import type { Static, TObject } from "typebox";
import { type AccessServices, accessOperations } from "../runtime/access/operations.ts";
import { type ApprovalServices, approvalOperations } from "../runtime/approvals/operations.ts";
import { type CapabilityServices, capabilityOperations } from "../runtime/capabilities/operations.ts";
import { type MarkServices, markOperations } from "../runtime/marks/operations.ts";
import {
  type AnyOperation,
  type Caller,
  type Result,
  type StreamOperation,
  type Subscription,
  scopesUpTo,
} from "../runtime/operations/operation.ts";
import { type SecretServices, secretOperations } from "../runtime/secrets/operations.ts";
import { type BudgetServices, budgetOperations } from "../runtime/spend/operations.ts";
import { type ToolServices, toolOperations } from "../runtime/tools/operations.ts";
import { type ConfigurationServices, configurationOperations } from "./configuration/operations.ts";
import { type DeliveryServices, deliveryOperations } from "./delivery/operations.ts";
import { type ErasureServices, erasureOperations } from "./erasure/operations.ts";
import { type FeedServices, feedOperations } from "./events/operations.ts";
import { type GovernanceServices, governanceOperations } from "./governance/operations.ts";
import { type MediaServices, mediaOperations } from "./media/operations.ts";
import { type MemoryServices, memoryOperations } from "./memory/operations.ts";
import { type ModelServices, modelOperations } from "./models/operations.ts";
import { type PolicyServices, policyOperations } from "./policy/operations.ts";
import { type RunServices, runOperations } from "./runs/operations.ts";
import { type ScheduleServices, scheduleOperations } from "./schedule/operations.ts";
import { type SessionServices, sessionOperations } from "./sessions/operations.ts";
import { type ShadowServices, shadowOperations } from "./shadow/operations.ts";
import { type StatusServices, statusOperations } from "./status/operations.ts";
import { type VerificationServices, verificationOperations } from "./verification/operations.ts";

export const OPERATIONS = [
  ...runOperations,
  ...approvalOperations,
  ...capabilityOperations,
  ...markOperations,
  ...toolOperations,
  ...sessionOperations,
  ...erasureOperations,
  ...mediaOperations,
  ...memoryOperations,
  ...deliveryOperations,
  ...feedOperations,
  ...verificationOperations,
  ...accessOperations,
  ...secretOperations,
  ...configurationOperations,
  ...modelOperations,
  ...budgetOperations,
  ...policyOperations,
  ...governanceOperations,
  ...statusOperations,
  ...shadowOperations,
  ...scheduleOperations,
] as const;

/** All that operations are performed with. */
export type Services = RunServices &
  ApprovalServices &
  CapabilityServices &
  MarkServices &
  ToolServices &
  SessionServices &
  ErasureServices &
  MediaServices &
  MemoryServices &
  DeliveryServices &
  FeedServices &
  VerificationServices &
  AccessServices &
  SecretServices &
  ConfigurationServices &
  ModelServices &
  BudgetServices &
  PolicyServices &
  StatusServices &
  GovernanceServices &
  ShadowServices &
  ScheduleServices;

type Operation = (typeof OPERATIONS)[number];
type Named<Name> = Extract<Operation, { readonly name: Name }>;

export type CallName = Exclude<Operation, { readonly kind: "stream" | "file" }>["name"];
export type StreamName = Extract<Operation, { readonly kind: "stream" }>["name"];
export type InputOf<Name> = Static<Named<Name>["input"]>;
export type ResultOf<Name> = Named<Name> extends { call(...args: never): infer Answer } ? Awaited<Answer> : never;
export type UpdateOf<Name> = Named<Name> extends StreamOperation<string, never, never, infer Update> ? Update : never;

/** The operator at this machine's terminal. */
const OPERATOR: Caller = {
  ...{ principal: "operator", source: "cli", idempotencyKey: null },
  ...{ scopes: scopesUpTo("admin"), sender: null },
};

export interface OperationClient {
  /** A gateway decides principal and source by the token; through one, those given here are not sent. */
  call<Name extends CallName>(name: Name, input: InputOf<Name>, caller?: Caller): Promise<ResultOf<Name>>;
  /** From the frame after the one with the id `after` on. Ends with the stream, or when the signal aborts. */
  subscribe<Name extends StreamName>(
    name: Name,
    input: InputOf<Name>,
    after: string | null,
    signal: AbortSignal,
    caller?: Caller,
  ): Promise<Subscription<UpdateOf<Name>>>;
}

/** An operation of the table whose schemas are only known at run time. */
export type CallableOperation = Exclude<AnyOperation, { readonly kind: "stream" | "file" }> & {
  call(services: Services, input: never, caller: Caller): Result<unknown> | Promise<Result<unknown>>;
};
export type SubscribableOperation<Update> = StreamOperation<string, Services, TObject, Update>;

const byName: ReadonlyMap<string, unknown> = new Map(OPERATIONS.map((operation) => [operation.name, operation]));

export function callableOperation(name: CallName): CallableOperation {
  return byName.get(name) as CallableOperation;
}

export function subscribableOperation<Name extends StreamName>(name: Name): SubscribableOperation<UpdateOf<Name>> {
  return byName.get(name) as SubscribableOperation<UpdateOf<Name>>;
}

/** In process. Inputs are trusted to have the operation's type: a gateway validates before it calls. */
export function bindOperations(services: Services): OperationClient {
  return {
    call: async <Name extends CallName>(name: Name, input: InputOf<Name>, caller = OPERATOR) =>
      (await callableOperation(name).call(services, input as never, caller)) as ResultOf<Name>,
    subscribe: async (name, input, after, signal, caller = OPERATOR) =>
      await subscribableOperation(name).open(services, input as never, after, signal, caller),
  };
}
