/**
 * What tools act upon, outside of every process under test: it counts effects, and survives crashes.
 *
 *   look.at         reads                     read_only
 *   note.put        writes, once a key        keyed
 *   door.open       acts every time           opaque
 *   agent.delegate  a run of its own
 */
import { hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import type { Hash } from "../../../src/kernel/vocabulary/identifiers.ts";
import { type Labels, USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import type { IdempotencyClass, RiskClass } from "../../../src/kernel/vocabulary/risk.ts";
import type { Arguments, CallContext, Planned, Toolbox } from "../../../src/runtime/ports/toolbox.ts";
import { settle } from "./settle.ts";

interface Performance {
  readonly tool: string;
  readonly args: Arguments;
  readonly key: Hash | null;
  readonly isRepeat: boolean;
}

/** Whether tools answer as soon as they have acted, or when other things have happened too. */
export type Pace = "at once" | "later";

export const PACES: readonly Pace[] = ["at once", "later"];

/** What a tool does before it reports; what it returns is its output. */
export type Conduct = (tool: string, args: Arguments, context: CallContext) => unknown;

export interface OutsideWorld {
  /** Everything that was begun, in order. */
  readonly performed: readonly Performance[];
  /** How often the world was changed: keyed writes of one key count once. */
  effects(tool: string): number;
  conduct: Conduct;
  /** What plans depend on besides their arguments. */
  circumstances: string;
  /** What an approver is shown. */
  shown: (tool: string, args: Arguments) => string;
  /** Of what looking brings back. */
  labels: Labels;
  /** Does opening a door ask whatever the rules allow? */
  asksAlways: boolean;
  readonly toolbox: Toolbox;
}

const PARAMETERS = { type: "object", properties: { thing: { type: "string" } } };

const TOOLS: Readonly<Record<string, { readonly risk: RiskClass; readonly idempotency: IdempotencyClass }>> = {
  "look.at": { risk: "read_only", idempotency: "read_only" },
  "note.put": { risk: "side_effect", idempotency: "keyed" },
  "door.open": { risk: "side_effect", idempotency: "opaque" },
  "agent.delegate": { risk: "draft_only", idempotency: "own_store" },
};

export function outsideWorld(pace: Pace = "later"): OutsideWorld {
  const performed: Performance[] = [];
  const keys = new Set<Hash>();
  const counts = new Map<string, number>();

  const act = (tool: string, { idempotencyKey, mayAct }: CallContext): void => {
    if (!mayAct || (idempotencyKey !== null && keys.has(idempotencyKey))) return;
    if (idempotencyKey !== null) keys.add(idempotencyKey);
    counts.set(tool, (counts.get(tool) ?? 0) + 1);
  };

  const run = async (planned: Planned, context: CallContext): Promise<unknown> => {
    const { tool, args } = planned;
    performed.push({ tool, args, key: context.idempotencyKey, isRepeat: context.isRepeat });
    act(tool, context);
    const { requestId, runId } = context;
    const output = await world.conduct(tool, args, context);
    if (pace === "later") await settle();
    return { requestId, runId, tool, ok: true, output, error: null, durationMs: 1, finishedAt: "" };
  };

  const world: OutsideWorld = {
    performed,
    effects: (tool) => counts.get(tool) ?? 0,
    conduct: (tool, args) => `${tool} ${String(args["thing"])}`,
    circumstances: "",
    shown: (tool, args) => `${tool} ${JSON.stringify(args)}`,
    labels: USER_LABELS,
    asksAlways: false,
    toolbox: {
      digest: hashCanonical(TOOLS),
      tools: Object.entries(TOOLS).map(([name, { risk }]) => ({
        name,
        risk,
        description: `the tool ${name}`,
        parameters: PARAMETERS,
      })),
      async plan(tool, args) {
        if (pace === "later") await settle();
        return plan(tool, args, world);
      },
      run,
      summarize: ({ tool, ok }) => `${tool} ${ok ? "done" : "failed"}`,
    },
  };
  return world;
}

function plan(
  tool: string,
  args: Arguments,
  { circumstances, shown, labels, asksAlways }: OutsideWorld,
): Planned | ReturnType<typeof unknownTool> {
  const known = Object.hasOwn(TOOLS, tool) ? TOOLS[tool] : undefined;
  if (known === undefined) return unknownTool(tool);
  const isDelegation = tool === "agent.delegate";
  return {
    ok: true,
    tool,
    args,
    ...known,
    pollable: false,
    volatileFields: [],
    timeoutMs: 30_000,
    egress: [],
    asksAlways: asksAlways && tool === "door.open",
    plan: {
      argv: [],
      cwd: null,
      environmentHash: hashCanonical({}),
      executable: null,
      scriptHashes: [],
      targets: [String(args["thing"]), circumstances],
    },
    shown: shown(tool, args),
    reversal: { kind: "unknown", how: "the world may keep it" },
    send: null,
    labels: tool === "look.at" ? labels : USER_LABELS,
    delegation: isDelegation ? { agent: "main", message: String(args["thing"]) } : null,
  };
}

function unknownTool(tool: string) {
  const error = { code: "tool.not_found", message: "There is no such tool.", retryable: false, details: {} } as const;
  return { ok: false, tool, error } as const;
}
