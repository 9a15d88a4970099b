/** `surety policy test [--policy FILE]`: puts the recorded calls of all runs to a policy. */
import { testPolicy } from "../../assistant/verification/replay-stored-run.ts";
import { EXIT } from "../boot-error.ts";
import type { Action } from "../command.ts";
import { toToolPolicy } from "../config/to-tool-policy.ts";
import { withHome } from "../read-home.ts";
import { OTHER_POLICY_OPTION, printDecision, readPolicy, wireDecision } from "./what-if.ts";

export const test: Action = {
  summary: "which recorded calls of all runs would a policy decide otherwise?",
  options: { policy: OTHER_POLICY_OPTION },
  examples: ["surety policy test", "surety policy test --policy stricter.json5 --json"],
  run: (context) =>
    withHome(context, async ({ store, config }) => {
      const { options, output } = context;
      const file = options.text("policy");
      const policy = file === undefined ? toToolPolicy(config) : await readPolicy(file, config);
      const { runs, calls, otherwise, unreadable } = await testPolicy(store, policy);
      const found = otherwise.flatMap(({ runId, others }) =>
        others.filter(({ isChanged }) => isChanged).map((other) => ({ runId, other })),
      );
      const decided = found.map(({ runId, other }) => ({ run_id: runId, ...wireDecision(other) }));
      output.result({ runs, calls, decided_otherwise: decided, unreadable }, () => {
        for (const { runId, other } of found) output.line(`${runId} ${printDecision(other)}`);
        output.line(`${runs} runs, ${calls} calls: ${found.length} would be decided otherwise`);
      });
      for (const runId of unreadable) output.remark(`error journal.unreadable: see surety verify ${runId}`);
      return unreadable.length === 0 ? EXIT.success : EXIT.failure;
    }),
};
