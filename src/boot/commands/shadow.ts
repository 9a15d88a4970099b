/** `surety shadow ls|act|dismiss|hook`: what the shadow loop noticed, and what is done about it (T-5). */
import { usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";
import { linesOf } from "../ghost-notices.ts";
import { HOOK_SHELLS, shellHook } from "../shell-hooks.ts";

const ls: Action = {
  summary: "list what it noticed and proposes, newest first",
  options: { all: { type: "boolean", summary: "those that were decided or settled, too" } },
  examples: ["surety shadow ls"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const { output, options } = context;
      const asked = options.flag("all") ? {} : { state: "open" as const };
      const { ghosts } = valueIn(await operations.call("ghosts.list", asked), hint);
      output.result({ ghosts }, () => {
        if (ghosts.length === 0) output.line("nothing was noticed");
        for (const ghost of ghosts) for (const line of linesOf(ghost)) output.line(line);
      });
    }),
};

const act: Action = {
  summary: "take an action that it proposes: a run like any other, which asks where policy asks",
  arguments: ["GHOST", "[ACTION]"],
  examples: ["surety shadow act ghost_7f3a", 'surety shadow act ghost_7f3a "Show it"'],
  run: (context) => decide(context, context.arguments[1] ?? "approve"),
};

const dismiss: Action = {
  summary: "leave it; the same is not said again for a day",
  arguments: ["GHOST"],
  examples: ["surety shadow dismiss ghost_7f3a"],
  run: (context) => decide(context, "dismiss"),
};

function decide(context: CommandContext, action: string): Promise<void> {
  const [id = ""] = context.arguments;
  return withOperations(context, async (operations) => {
    const ghost = valueIn(await operations.call("ghosts.act", { id, action }), hint);
    const { output } = context;
    output.result(ghost, () => {
      output.line(`${ghost.state}${ghost.run_id === null ? "" : `: surety runs watch ${ghost.run_id}`}`);
    });
  });
}

const hook: Action = {
  summary: "print what a shell needs to report exit codes, for its start-up file",
  arguments: ["SHELL"],
  examples: ['eval "$(surety shadow hook bash)"', "surety shadow hook fish | source"],
  run: ({ arguments: [named], home, output }) => {
    const shell = HOOK_SHELLS.find((each) => each === named);
    if (shell === undefined) throw usageError(`there is no hook for ${named}`, `Shells: ${HOOK_SHELLS.join(", ")}.`);
    output.text(shellHook(shell, home.shellReports));
    return Promise.resolve();
  },
};

function hint(code: string): string {
  return code === "not_found" ? "See surety shadow ls." : "See surety shadow --help.";
}

export const command: Command = { actions: { ls, act, dismiss, hook } };
