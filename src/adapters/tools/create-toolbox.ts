/**
 * The tool registry (T-4.1): names, aliases, schemas and idempotency of the tools, and the envelope around every call.
 * `plan` and `run` never throw: a `ToolFailure` becomes its error, an abort `timeout`, anything else `internal.error`,
 * whose details go to `onDefect` only.
 */

import { handleOf, handlesIn, restoreSecrets } from "../../kernel/redaction/redaction-marker.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import {
  DEFAULT_TOOL_TIMEOUT_MS,
  MAX_TOOL_TIMEOUT_MS,
  type ToolError,
  type ToolResponse,
} from "../../kernel/vocabulary/tool-envelope.ts";
import { truncateOutput } from "../../kernel/vocabulary/truncate-output.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type {
  Arguments,
  AskingRun,
  CallContext,
  Planned,
  RegisteredTool,
  Reversal,
  Toolbox,
  Unplannable,
} from "../../runtime/ports/toolbox.ts";
import type { CallOutline, Tool, ToolAlias } from "./define-tool.ts";
import { lintTool } from "./lint-tool.ts";
import { type ArgumentsReader, argumentsReader } from "./read-arguments.ts";
import { ToolFailure, toolErrorOf } from "./tool-failure.ts";

interface ToolboxOptions {
  readonly clock: Pick<Clock, "nowMs" | "monotonicMs">;
  readonly onDefect: (error: unknown) => void;
  /** Absent: the defaults of O-1.1. */
  readonly timeouts?: ToolTimeouts;
  /** The value of a stored secret that arguments may name by its handle. Absent: none is put back. */
  readonly secretOf?: (name: string) => string | undefined;
}

export interface ToolTimeouts {
  /** For calls of a tool that has none of its own. */
  readonly defaultMs: number;
  /** No call gets more. */
  readonly maxMs: number;
}

interface Registration {
  readonly tool: Tool;
  readonly alias: ToolAlias | null;
  readonly readArguments: ArgumentsReader;
}

const DEFAULT_TIMEOUTS: ToolTimeouts = { defaultMs: DEFAULT_TOOL_TIMEOUT_MS, maxMs: MAX_TOOL_TIMEOUT_MS };
const MAX_SUMMARY_BYTES = 220;
const MAX_NAMES_SHOWN = 24;

export interface RegistryToolbox extends Toolbox {
  /** For later runs; throws if the name is taken or a rule of `lint-tool.ts` is broken. */
  register(tool: Tool): void;
  nameOf(name: string): string | null;
}

export function createToolbox(tools: readonly Tool[], options: ToolboxOptions): RegistryToolbox {
  let current = indexTools(tools);
  const planner = createPlanner(options);
  return {
    get digest() {
      return current.digest;
    },
    get tools() {
      return current.offers;
    },
    register(tool) {
      current = indexTools([...current.sorted, tool]);
    },
    nameOf: (name) => current.registered.get(name)?.tool.name ?? null,
    async plan(name, given, by) {
      const found = current.registered.get(name);
      if (found === undefined) return { ok: false, tool: name, error: toolErrorOf(notFound(name, current.sorted)) };
      return await planner(found, given, by);
    },
    async run(planned, context) {
      const tool = current.registered.get(planned.tool)?.tool;
      if (tool === undefined) throw new Defect(`a plan for ${planned.tool}, which is not registered`);
      return await runCall(tool, planned, context, options);
    },
    summarize({ tool: name, args, ok, output }) {
      const tool = current.registered.get(name)?.tool;
      if (tool === undefined || !ok) return `${name} ${ok ? "done" : "failed"}`;
      return truncateOutput(tool.summarize({ args, output }), MAX_SUMMARY_BYTES, "…").text;
    },
  };
}

function indexTools(tools: readonly Tool[]) {
  const sorted = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { sorted, registered: register(sorted), digest: digestOf(sorted), offers: sorted.map(offerOf) };
}

function createPlanner(options: ToolboxOptions) {
  const { timeouts = DEFAULT_TIMEOUTS } = options;
  const emptyPlan: Planned["plan"] = {
    ...{ argv: [], cwd: null, executable: null, scriptHashes: [], targets: [] },
    environmentHash: hashCanonical({}),
  };
  const complete = (tool: Tool, args: Arguments, outline: CallOutline): Planned => {
    const { risk = tool.risk, egress = [], timeoutMs = tool.timeoutMs ?? timeouts.defaultMs } = outline;
    return {
      ...{ idempotency: tool.idempotency, asksAlways: false, send: null, delegation: null },
      reversal: defaultReversal(risk, egress),
      ...outline,
      ...{
        ok: true,
        tool: tool.name,
        args,
        risk,
        egress,
        pollable: tool.pollable,
        volatileFields: tool.volatileFields,
      },
      ...(secretsNamedIn(args, options).size > 0 ? { asksAlways: true } : {}),
      timeoutMs: Math.max(1, Math.min(Math.trunc(timeoutMs), timeouts.maxMs)),
      plan: { ...emptyPlan, ...outline.plan },
    };
  };
  return async (
    { tool, alias, readArguments }: Registration,
    given: unknown,
    by: AskingRun | undefined,
  ): Promise<Planned | Unplannable> => {
    try {
      const args = readArguments(given, alias);
      return complete(tool, args, await tool.plan(args, by));
    } catch (thrown) {
      return { ok: false, tool: tool.name, error: errorOf(thrown, options) };
    }
  };
}

const SENT: Reversal = { kind: "irreversible", how: "a request to another host cannot be undone" };
const HARMLESS: Reversal = { kind: "reversible", how: "it changes nothing" };
const UNKNOWN: Reversal = { kind: "unknown", how: "what it changes is not known beforehand" };

function defaultReversal(risk: Planned["risk"], egress: Planned["egress"]): Reversal {
  if (egress.length > 0) return SENT;
  return risk === "read_only" ? HARMLESS : UNKNOWN;
}

async function runCall(
  tool: Tool,
  planned: Planned,
  context: CallContext,
  options: ToolboxOptions,
): Promise<ToolResponse> {
  const { clock } = options;
  const { requestId, runId, signal } = context;
  const startedMs = clock.monotonicMs();
  const finished = () => ({
    requestId,
    runId,
    tool: tool.name,
    durationMs: Math.round(clock.monotonicMs() - startedMs),
    finishedAt: timestampOf(clock.nowMs()),
  });
  try {
    signal.throwIfAborted();
    const output = await tool.run(withSecrets(planned, options), context);
    return { ...finished(), ok: true, output, error: null };
  } catch (thrown) {
    const isAborted = signal.aborted && (thrown === signal.reason || isAbort(thrown));
    return { ...finished(), ok: false, error: isAborted ? abortedError(tool) : errorOf(thrown, options) };
  }
}

type Carried = Pick<Planned, "args" | "plan" | "labels">;

/** What names a stored secret asks whatever the rules allow: the approver sees the handle and where it would go. */
function secretsNamedIn(args: Arguments, { secretOf }: ToolboxOptions): ReadonlyMap<string, string> {
  const named = secretOf === undefined ? [] : handlesIn(args).map((name) => [name, secretOf(name)] as const);
  return new Map(named.filter((each): each is readonly [string, string] => each[1] !== undefined));
}

/**
 * Only here, where an allowed plan is performed, are the secrets put back that its arguments name. Any other handle stays the
 * text it is: one that a plan has from elsewhere, and one that was no secret's yet when the plan was made.
 */
function withSecrets({ args, plan, labels, asksAlways }: Planned, options: ToolboxOptions): Carried {
  const named = secretsNamedIn(args, options);
  if (named.size === 0 || !asksAlways) return { args, plan, labels };
  const restored = restoreSecrets({ args, plan } as unknown as JsonValue, (name) => named.get(name) ?? handleOf(name));
  if (restored.ok) return { ...(restored.value as unknown as Pick<Carried, "args" | "plan">), labels };
  throw new ToolFailure("tool.input_invalid", "The stored secrets cannot be put into these arguments.");
}

function register(tools: readonly Tool[]): ReadonlyMap<string, Registration> {
  const registered = new Map<string, Registration>();
  for (const tool of tools) {
    lintTool(tool);
    const readArguments = argumentsReader(tool);
    for (const [name, alias] of [[tool.name, null] as const, ...tool.aliases.map((one) => [one.name, one] as const)]) {
      const other = registered.get(name);
      if (other !== undefined) throw new Defect(`tool ${tool.name}: ${name} already names ${other.tool.name}`);
      registered.set(name, { tool, alias, readArguments });
    }
  }
  return registered;
}

function digestOf(tools: readonly Tool[]): Toolbox["digest"] {
  const plain = tools.map(({ name, parameters, risk, idempotency }) => ({ name, parameters, risk, idempotency }));
  return hashCanonical(JSON.parse(JSON.stringify(plain)));
}

/** With the wire form of the schema, without TypeBox's own fields. */
function offerOf({ name, description, parameters, risk }: Tool): RegisteredTool {
  return { name, description, parameters: JSON.parse(JSON.stringify(parameters)), risk };
}

function notFound(name: string, tools: readonly Tool[]): ToolFailure {
  const family = name.split(/[._]/, 1)[0] ?? "";
  const names = tools.map((tool) => tool.name);
  const nearest = [
    ...names.filter((other) => other.startsWith(family)),
    ...names.filter((other) => !other.startsWith(family)),
  ];
  const shown = nearest.slice(0, MAX_NAMES_SHOWN).join(", ");
  const more = nearest.length > MAX_NAMES_SHOWN ? ` and ${nearest.length - MAX_NAMES_SHOWN} more` : "";
  return new ToolFailure("tool.not_found", `No such tool. Known tools: ${shown || "none"}${more}.`);
}

function errorOf(thrown: unknown, { onDefect }: ToolboxOptions): ToolError {
  if (thrown instanceof ToolFailure) return toolErrorOf(thrown);
  onDefect(thrown);
  const message = "The tool failed unexpectedly. This is a bug of the gateway; see its log.";
  return { code: "internal.error", message, retryable: false, details: {} };
}

function abortedError({ idempotency }: Tool): ToolError {
  const retryable = idempotency !== "opaque";
  return { code: "timeout", message: "Stopped before it finished.", retryable, details: {} };
}

function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === "AbortError";
}
