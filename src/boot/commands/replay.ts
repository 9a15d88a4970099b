/** `surety replay RUN [--policy FILE]`: the recorded run once more, with no network; or what another policy would say. */

import { findContract, readWholeJournal } from "../../runtime/run/read-run.ts";
import { replayRun, whatIf } from "../../runtime/run/replay-run.ts";
import { BootError, EXIT } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { findRun, withHome } from "../read-home.ts";
import { POLICY_OPTION, readPolicy, toldDecision, wireDecision } from "./what-if.ts";

export const replay: Action = {
  summary: "run the recorded run again from its journal: same outcome, same head?",
  arguments: ["RUN"],
  options: { policy: POLICY_OPTION },
  examples: ["surety replay run_0123", "surety replay run_0123 --policy stricter.json5"],
  run: (context) =>
    withHome(context, async (home) => {
      const {
        arguments: [id = ""],
        options,
        output,
      } = context;
      const run = await findRun(home, id);
      const journal = await readWholeJournal(home.store, run.runId);
      const contract = findContract(run);
      if (contract === null) {
        const problem = `the contract of ${id} is not the one it was accepted under`;
        throw new BootError("contract.unreadable", problem, `See surety verify ${id}.`);
      }
      const replayed = replayRun(run.runId, contract, journal.entries);
      const recordedHead = journal.entries.at(-1)?.hash ?? null;
      const divergedAt = journal.ok ? replayed.divergedAt : journal.badEntry;
      const isReproduced = divergedAt === null && replayed.isReproduced && run.outcome === replayed.outcome;
      const policyFile = options.text("policy");
      const policy = policyFile === undefined ? null : await readPolicy(policyFile, home.config);
      const others = policy === null ? [] : whatIf(contract, journal.entries, policy);
      const result = {
        run_id: run.runId,
        reproduced: isReproduced,
        outcome: replayed.outcome,
        head_hash: replayed.headHash,
        recorded_head_hash: recordedHead,
        diverged_at: divergedAt,
        ...(policy === null ? {} : { decided_otherwise: others.map(wireDecision) }),
      };
      output.result(result, () => print(context, result, others));
      return isReproduced ? EXIT.success : EXIT.failure;
    }),
};

function print(
  { output }: CommandContext,
  {
    run_id,
    reproduced,
    outcome,
    head_hash,
    diverged_at,
  }: { run_id: string; reproduced: boolean; outcome: string | null; head_hash: string; diverged_at: number | null },
  others: ReturnType<typeof whatIf>,
): void {
  if (reproduced) output.line(`${run_id} replays: ${outcome ?? "not ended yet"}, head ${head_hash}`);
  else output.remark(`error replay.diverged: ${run_id} differs at entry ${diverged_at ?? "unknown"}`);
  for (const other of others) output.line(toldDecision(other));
}
