/**
 * A tool: its parameters, its risk, and how one call of it is planned and run. `plan` changes nothing and binds
 * everything `run` must find unchanged. Both fail by throwing a `ToolFailure`; anything else thrown is a defect of the
 * tool. After an effect `run` does not check the signal again: the result reports what happened.
 */
import type { Static, TObject } from "typebox";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { IdempotencyClass, RiskClass } from "../../kernel/vocabulary/risk.ts";
import type { AskingRun, CallContext, Planned } from "../../runtime/ports/toolbox.ts";

/** Another name for the tool, and how its arguments map to ours. */
export interface ToolAlias {
  readonly name: string;
  /** Their argument names, with ours. */
  readonly rename?: Readonly<Record<string, string>>;
  /** Arguments we do not have, with the one value that changes nothing; any other value is refused. */
  readonly ignore?: Readonly<Record<string, JsonValue>>;
}

/** What one call would do. Omitted fields take the tool's value, or none. */
export interface CallOutline
  extends Pick<Planned, "shown" | "labels">,
    Partial<
      Pick<
        Planned,
        "risk" | "idempotency" | "timeoutMs" | "egress" | "asksAlways" | "reversal" | "replaces" | "send" | "delegation"
      >
    > {
  readonly plan?: Partial<Planned["plan"]>;
}

/** Every optional parameter has a default, which is filled in. */
export type ArgumentsOf<Parameters extends TObject> = Readonly<Required<Static<Parameters>>>;

export interface Tool<Parameters extends TObject = TObject> {
  readonly name: string;
  /** One sentence; it is part of every prompt. */
  readonly description: string;
  readonly parameters: Parameters;
  readonly risk: RiskClass;
  readonly idempotency: IdempotencyClass;
  /** Identical calls are expected and do not count as a cycle. */
  readonly pollable: boolean;
  /** Top-level fields of its output that differ between equal results: durations, times of fetching. */
  readonly volatileFields: readonly string[];
  /** Absent: as configured. */
  readonly timeoutMs?: number;
  readonly aliases: readonly ToolAlias[];
  /** Its plans name hosts, and each host needs a capability. Known before planning, for `surety policy`. */
  readonly reachesHosts: boolean;
  /** Some calls change nothing and are planned `read_only`. For `surety policy`. */
  readonly mayOnlyRead: boolean;
  /** Some calls ask whatever the rules allow. For `surety policy`. */
  readonly mayAskAlways: boolean;
  /** `by`: the run that asks; absent: the call is in no run. */
  plan(args: ArgumentsOf<Parameters>, by?: AskingRun): CallOutline | Promise<CallOutline>;
  run(
    call: {
      readonly args: ArgumentsOf<Parameters>;
      readonly plan: Planned["plan"];
      readonly labels: Planned["labels"];
    },
    context: CallContext,
  ): JsonValue | Promise<JsonValue>;
  /** A short line about a successful call. Arguments and output come from a journal and may be cut. */
  summarize(call: { readonly args: Readonly<Record<string, unknown>>; readonly output: unknown }): string;
}

type DefaultedField = "pollable" | "volatileFields" | "aliases" | "reachesHosts" | "mayOnlyRead" | "mayAskAlways";

export function defineTool<Parameters extends TObject>(
  definition: Omit<Tool<Parameters>, DefaultedField> & Partial<Pick<Tool, DefaultedField>>,
): Tool<Parameters> {
  return {
    ...{ pollable: false, volatileFields: [], aliases: [] },
    ...{ reachesHosts: false, mayOnlyRead: false, mayAskAlways: false },
    ...definition,
  };
}

export function fieldOf(value: unknown, name: string): string | number | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  const field = (value as Readonly<Record<string, unknown>>)[name];
  return typeof field === "string" || typeof field === "number" ? field : undefined;
}
