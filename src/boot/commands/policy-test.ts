/**
 * `surety policy test [--policy FILE]`: the recorded calls of all runs, put to a policy.
 *
 * T1. Nothing is run again and nobody is asked: the policy is asked about what was proposed, where it stood.
 * T2. A journal that cannot be read to its end is named, and makes the command fail: its other calls are not known.
 */

import { findContract, readWholeJournal } from "../../runtime/run/read-run.ts";
import { type OtherDecision, whatIf } from "../../runtime/run/replay-run.ts";
import { EXIT } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { toToolPolicy } from "../config/to-tool-policy.ts";
import { withHome } from "../read-home.ts";
import { POLICY_OPTION, readPolicy, toldDecision, wireDecision } from "./what-if.ts";

const PAGE = 500;

export const test: Action = {
  summary: "which recorded calls of all runs would a policy decide otherwise?",
  arguments: [],
  options: { policy: { ...POLICY_OPTION, summary: "put them to this tools.policy instead of the configured one" } },
  examples: ["surety policy test", "surety policy test --policy stricter.json5 --json"],
  run: testPolicy,
};

interface RunOtherwise {
  readonly runId: string;
  readonly others: readonly OtherDecision[];
}

function testPolicy(context: CommandContext): Promise<number> {
  const { options, output } = context;
  return withHome(context, async ({ store, config }) => {
    const file = options.text("policy");
    const policy = file === undefined ? toToolPolicy(config) : await readPolicy(file, config);
    const otherwise: RunOtherwise[] = [];
    const unreadable: string[] = [];
    let [runs, calls] = [0, 0];
    for (let offset = 0; ; offset += PAGE) {
      const page = await store.listRuns({ limit: PAGE, offset });
      for (const run of page.runs) {
        const journal = await readWholeJournal(store, run.runId);
        const contract = findContract(run);
        runs += 1;
        if (!journal.ok || contract === null) unreadable.push(run.runId);
        if (contract === null) continue;
        const others = whatIf(contract, journal.entries, policy);
        calls += journal.entries.reduce((sum, { decided }) => sum + ("calls" in decided ? decided.calls.length : 0), 0);
        if (others.length > 0) otherwise.push({ runId: run.runId, others });
      }
      if (page.runs.length < PAGE) break;
    }
    const found = otherwise.flatMap(({ runId, others }) =>
      others.map((other) => ({ run_id: runId, ...wireDecision(other) })),
    );
    output.result({ runs, calls, decided_otherwise: found, unreadable }, () => {
      for (const { runId, others } of otherwise) {
        for (const other of others) output.line(`${runId} ${toldDecision(other)}`);
      }
      output.line(`${runs} runs, ${calls} calls: ${found.length} would be decided otherwise`);
    });
    for (const runId of unreadable) output.remark(`error journal.unreadable: see surety verify ${runId}`);
    return unreadable.length === 0 ? EXIT.success : EXIT.failure;
  });
}
