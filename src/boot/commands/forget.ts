/** `surety forget RUN|SESSION|MEMORY`: removes content for good. */
import type { OperationClient, ResultOf } from "../../assistant/operations.ts";
import { asMemoryId, asSessionId, type RunId } from "../../kernel/vocabulary/identifiers.ts";
import { BootError } from "../boot-error.ts";
import type { Command, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";
import { findSession } from "../find-session.ts";
import { findRun, withHome } from "../read-home.ts";
import { forgetMemory } from "./forget-memory.ts";

export const command: Command = {
  summary: "remove the content of a run, a conversation or a memory for good; chains still verify",
  arguments: ["RUN|SESSION|MEMORY"],
  examples: ["surety forget run_0123", "surety forget session_0123", "surety forget holiday"],
  async run(context) {
    const [named = ""] = context.arguments;
    if (named.startsWith("mem_")) return await forgetMemory(context, asMemoryId(named));
    const runId = await findRunId(context, named);
    await withOperations(context, async (operations) => {
      const { id, forgotten } =
        runId === null ? await forgetSession(operations, named) : await forgetRun(operations, runId);
      context.output.result({ id, ...forgotten }, () => printForgotten(context, id, forgotten));
    });
  },
};

type Forgotten = Extract<ResultOf<"runs.forget">, { readonly ok: true }>["value"];

/** Null: it names no run, so it should name a session. */
async function findRunId(context: CommandContext, named: string): Promise<RunId | null> {
  if (named.startsWith("session_")) return null;
  try {
    return (await withHome(context, (home) => findRun(home, named))).runId;
  } catch (error) {
    const isOther = error instanceof BootError && error.code === "not_found" && !named.startsWith("run_");
    if (isOther) return null;
    throw error;
  }
}

async function forgetRun(operations: OperationClient, id: RunId) {
  return { id, forgotten: valueIn(await operations.call("runs.forget", { id }), hintFor) };
}

async function forgetSession(operations: OperationClient, named: string) {
  const { id } = await findSession(operations, named);
  return { id, forgotten: valueIn(await operations.call("sessions.forget", { id: asSessionId(id) }), hintFor) };
}

function hintFor(code: string): string {
  return code === "conflict" ? "See surety runs ls." : "See surety runs ls and surety sessions ls.";
}

function printForgotten(
  { output }: CommandContext,
  id: string,
  { runs, texts, is_complete, not_reached }: Forgotten,
): void {
  const what =
    runs.length === 0 ? "nothing was left of it" : `${counted(runs.length, "run")}, ${counted(texts, "text")}`;
  output.line(`forgot ${id}: ${what}. Chains stay valid: surety verify --home`);
  if (!is_complete) output.remark("A file was in use. The rest follows when the gateway starts again.");
  output.line("Copies may be left in:");
  for (const place of not_reached) output.line(`  ${place}`);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
