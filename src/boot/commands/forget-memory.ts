/** Forgets a memory: `surety memory forget`, and `surety forget` with its id. */
import type { MemoryId } from "../../kernel/vocabulary/identifiers.ts";
import type { CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";

const NOT_REACHED = [
  "runs that told it or were given it (surety memory show names them; surety forget RUN)",
  "backups, and bundles that were exported",
];

export function forgetMemory(context: CommandContext, id: MemoryId): Promise<void> {
  return withOperations(context, async (operations) => {
    const shown = await operations.call("memory.show", { id });
    const done = valueIn(await operations.call("memory.forget", { id }), (code) =>
      code === "not_found" ? "See surety memory search." : "See surety memory --help.",
    );
    const runs = shown.ok ? shown.value.runs.map(({ run_id }) => run_id) : [];
    const { output } = context;
    output.result({ ...done, runs }, () => {
      const { forgotten } = done;
      output.line(forgotten.length === 0 ? `${id} was forgotten before` : `forgotten: ${forgotten.join(", ")}`);
      output.line("Copies may be left in:");
      for (const place of NOT_REACHED) output.line(`  ${place}`);
    });
  });
}
