/** `surety replay RUN [--policy FILE]`: replays a recorded run without network; or asks what another policy would decide. */
import { replayStoredRun } from "../../assistant/verification/replay-stored-run.ts";
import { BootError, EXIT } from "../boot-error.ts";
import type { Action } from "../command.ts";
import { findRun, withHome } from "../read-home.ts";
import { POLICY_OPTION, printDecision, readPolicy, wireDecision } from "./what-if.ts";

export const command: Action = {
  summary: "replay a recorded run from its journal: same outcome, same head?",
  arguments: ["RUN"],
  options: { policy: POLICY_OPTION },
  examples: ["surety replay run_0123", "surety replay run_0123 --policy stricter.json5"],
  run: (context) =>
    withHome(context, async ({ store, config }) => {
      const [id = ""] = context.arguments;
      const { options, output } = context;
      const run = await findRun({ store }, id);
      const file = options.text("policy");
      const policy = file === undefined ? null : await readPolicy(file, config);
      const replayed = await replayStoredRun(store, run, policy);
      if (replayed === null) {
        const problem = `the contract of ${id} is not the one it was accepted under`;
        throw new BootError("contract.unreadable", problem, `See surety verify ${id}.`);
      }
      const { isReproduced, outcome, headHash, recordedHead, divergedAt, others } = replayed;
      const result = {
        run_id: run.runId,
        reproduced: isReproduced,
        outcome,
        head_hash: headHash,
        recorded_head_hash: recordedHead,
        diverged_at: divergedAt,
        ...(policy === null ? {} : { decided_otherwise: others.map(wireDecision) }),
      };
      output.result(result, () => {
        if (isReproduced) output.line(`${run.runId} replays: ${outcome ?? "not ended yet"}, head ${headHash}`);
        else output.remark(`error replay.diverged: ${run.runId} differs at entry ${divergedAt ?? "unknown"}`);
        for (const other of others) output.line(printDecision(other));
        if (policy !== null && others.length === 0) output.line("the policy would decide every call as recorded");
      });
      return isReproduced ? EXIT.success : EXIT.failure;
    }),
};
