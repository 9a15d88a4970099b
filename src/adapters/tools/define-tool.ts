/**
 * A tool as it is written: what it takes, what it may do to the world, and how one call of it is planned and run.
 *
 * D1. `plan` looks at the world and changes nothing; everything `run` must find unchanged stands in its `plan`.
 * D2. `run` is given validated arguments with defaults filled in, the plan made of them and the labels its answer will
 *     have. It acts on nothing else.
 * D3. Both fail by throwing a `ToolFailure`. Anything else that is thrown is a defect of the tool.
 * D4. Once an effect has happened the signal is not asked again: what is reported is what happened.
 */
import type { Static, TObject } from "typebox";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { IdempotencyClass, RiskClass } from "../../kernel/vocabulary/risk.ts";
import { DEFAULT_TOOL_TIMEOUT_MS } from "../../kernel/vocabulary/tool-envelope.ts";
import type { CallContext, Planned } from "../../runtime/ports/toolbox.ts";

/** A name by which others know the tool, and how their arguments become ours. */
export interface ToolAlias {
  readonly name: string;
  /** Their argument names, with ours. */
  readonly rename?: Readonly<Record<string, string>>;
  /** Arguments we do not have, with the one value that changes nothing; any other value is refused. */
  readonly ignore?: Readonly<Record<string, JsonValue>>;
}

/** What one call would do. What is left out is as the tool says, or nothing. */
export interface CallOutline
  extends Pick<Planned, "shown" | "labels">,
    Partial<
      Pick<Planned, "risk" | "idempotency" | "timeoutMs" | "egress" | "asksAlways" | "reversal" | "send" | "delegation">
    > {
  readonly plan?: Partial<Planned["plan"]>;
}

/** Every optional parameter has a default, which is filled in: nothing is missing here. */
export type ArgumentsOf<Parameters extends TObject> = Readonly<Required<Static<Parameters>>>;

export interface Tool<Parameters extends TObject = TObject> {
  readonly name: string;
  /** Stands in every prompt: a sentence. */
  readonly description: string;
  readonly parameters: Parameters;
  readonly risk: RiskClass;
  readonly idempotency: IdempotencyClass;
  /** Asking again for the same thing is what it is for, and no cycle. */
  readonly pollable: boolean;
  readonly timeoutMs: number;
  readonly aliases: readonly ToolAlias[];
  /** Its plans name hosts, and each host needs a capability. Said before there is a plan, for whoever explains policy. */
  readonly reachesHosts: boolean;
  /** Many calls of it change nothing, and are planned `read_only`. Said for the same reason. */
  readonly mayOnlyRead: boolean;
  /** Some calls of it ask whatever the rules allow. Said for the same reason. */
  readonly mayAskAlways: boolean;
  plan(args: ArgumentsOf<Parameters>): CallOutline | Promise<CallOutline>;
  run(
    call: {
      readonly args: ArgumentsOf<Parameters>;
      readonly plan: Planned["plan"];
      readonly labels: Planned["labels"];
    },
    context: CallContext,
  ): JsonValue | Promise<JsonValue>;
  /** A short line about a call that succeeded. Both come out of a journal, perhaps cut short: nothing is certain. */
  summarize(call: { readonly args: Readonly<Record<string, unknown>>; readonly output: unknown }): string;
}

type OrdinarilyTheSame = "pollable" | "timeoutMs" | "aliases" | "reachesHosts" | "mayOnlyRead" | "mayAskAlways";

export function defineTool<Parameters extends TObject>(
  definition: Omit<Tool<Parameters>, OrdinarilyTheSame> & Partial<Pick<Tool, OrdinarilyTheSame>>,
): Tool<Parameters> {
  return {
    ...{ pollable: false, timeoutMs: DEFAULT_TOOL_TIMEOUT_MS, aliases: [] },
    ...{ reachesHosts: false, mayOnlyRead: false, mayAskAlways: false },
    ...definition,
  };
}
