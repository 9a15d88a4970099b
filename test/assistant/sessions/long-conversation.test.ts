/** One conversation of a thousand turns with tools: its prompt does not grow, and what was decided early is not forgotten. */
import { expect } from "vitest";
import type { SessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { getSummaryPrompt } from "../../../src/prompts/summary-prompt.ts";
import { readCheckpoint, type SessionSummary, summaryIn } from "../../../src/runtime/checkpoint/session-checkpoint.ts";
import { readAcceptance } from "../../../src/runtime/run/acceptance.ts";
import { COMPACTION_SOURCE } from "../../../src/runtime/run/run-rules.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { calls, says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const store = storeOfFile();
const TURNS = 1000;
const DECISION = "the harbour gate stays green";
const WORDS = "It was looked at, and the finding is written down here in a sentence of the usual length.";

verifies(
  ["P-5.3", "T-3c"],
  "a thousand turns with tools: prompt tokens of turns 100 to 1000 within a tenth of turn 100, a decision of turn 3 in turn 900",
  async () => {
    const prompts = new Map<number, string>();
    const model = scriptedModel((request) => {
      const { messages } = request;
      if (messages[0]?.content === getSummaryPrompt().content) {
        return says(
          `Summary: the user has thing after thing looked at, and each was found in its place; nothing is open.`,
        );
      }
      const at = messages.findLastIndex(({ role }) => role === "user");
      const asked = messages[at]?.content ?? "";
      const turn = Number(/\d+/.exec(asked)?.[0]);
      if (at === messages.length - 1) {
        prompts.set(turn, messages.map(({ content }) => content).join("\n"));
        return calls([{ id: `c${turn}`, tool: "look.at", args: { thing: `thing ${turn}` } }]);
      }
      if (turn !== 3) return says(`${WORDS} That was number ${turn}.`);
      return says(`Decided.\n<<<NOTES_JSON>>>\n{"add_decisions":["${DECISION}"]}\n<<<END_NOTES_JSON>>>`);
    });
    const trial = openTrial({ store: store(), world: outsideWorld("at once"), model });
    let sessionId: SessionId | null = null;
    const tokens: number[] = [];
    for (let turn = 1; turn <= TURNS; turn += 1) {
      const runId = await trial.submit(`look at number ${turn}`, sessionId === null ? {} : { sessionId });
      const run = await trial.ended(runId);
      sessionId = run.sessionId;
      tokens[turn] = readAcceptance(run.accepted).event.prompt.tokens;
    }
    expect(Math.max(...tokens.slice(100)) / (tokens[100] ?? 0)).toBeLessThanOrEqual(1.1);
    expect(prompts.get(900)).toContain(DECISION);
    const { turns } = summaryIn(await readCheckpoint(trial.store, sessionId as SessionId)) as SessionSummary;
    // All but the turns that the next prompt holds are in the summary.
    expect(turns).toBeGreaterThan(TURNS - 15);
    const runs = await trial.store.sessionRuns(sessionId as SessionId, { after: 0, before: 1e9 }, 2 * TURNS);
    const compactions = runs.filter(({ source }) => source === COMPACTION_SOURCE);
    expect(compactions.every(({ outcome }) => outcome === "COMPLETED_CHAT_ONLY")).toBe(true);
    // Every few turns, not every turn.
    expect(compactions.length).toBeLessThan(TURNS / 4);
    expect(trial.defects).toEqual([]);
    await trial.stop();
  },
  120_000,
);
