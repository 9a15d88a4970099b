/** What a session adds to the prompts of its runs, through whole runs. */
import { expect } from "vitest";
import type { ContextLimits } from "../../../src/assistant/context/context-limits.ts";
import { LATEST, SessionContext } from "../../../src/assistant/context/session-context.ts";
import type { PromptMessage } from "../../../src/runtime/ports/model-backend.ts";
import type { Store } from "../../../src/runtime/ports/store.ts";
import { ManualClock } from "../../adapters/gateway/manual-clock.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { askedFor, calls, says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const store = storeOfFile();

/** The last prompt of a conversation of five messages; the first makes a call. */
async function lastPrompt(limits: Partial<ContextLimits>): Promise<readonly PromptMessage[]> {
  const look = calls([{ id: "c1", tool: "look.at", args: { thing: "it" } }]);
  const model = scriptedModel((request) =>
    askedFor(request) === "message 1" && request.messages.at(-1)?.role === "user" ? look : says("an answer"),
  );
  const trial = openTrial({ store: store(), world: outsideWorld(), model, limits });
  const { sessionId } = await trial.ended(await trial.submit("message 1"));
  for (const number of [2, 3, 4, 5]) await trial.ended(await trial.submit(`message ${number}`, { sessionId }));
  await trial.stop();
  return model.requests.at(-1)?.request.messages ?? [];
}

const asked = (prompt: readonly PromptMessage[]): readonly string[] =>
  prompt.flatMap(({ role, content }) => (role === "user" ? [content] : []));

verifies("O-6.1/message", "an agent's own limits decide how much of a conversation its model is sent", async () => {
  const usual = await lastPrompt({});
  expect(asked(usual)).toEqual([1, 2, 3, 4, 5].map((number) => `message ${number}`));
  expect(usual.some(({ role }) => role === "tool")).toBe(true);
  expect(asked(await lastPrompt({ maxTurns: 2 }))).toEqual(["message 3", "message 4", "message 5"]);
  expect((await lastPrompt({ toolResultTokens: 0 })).some(({ role }) => role === "tool")).toBe(false);
  expect(asked(await lastPrompt({ messageChars: 7 })).slice(-2)).toEqual(["messag…", "message 5"]);
});

verifies(
  "T-2.1/memory",
  "the turns of a session that is idle are forgotten, and read again when it goes on",
  async () => {
    const model = scriptedModel(() => says("an answer"));
    const trial = openTrial({ store: store(), world: outsideWorld(), model });
    const first = await trial.ended(await trial.submit("message 1"));
    let reads = 0;
    const counting: Store = {
      ...trial.store,
      readEntries: (runId, after, limit) => {
        reads += 1;
        return trial.store.readEntries(runId, after, limit);
      },
    };
    const clock = new ManualClock();
    const { drafting, readAgentFile } = trial;
    const context = new SessionContext({
      ...{ ...drafting, store: counting, readAgentFile, model: () => null, clock },
      idleMs: () => 1000,
    });
    const read = async (): Promise<number> => {
      expect(await context.turns(first.sessionId, { after: 0, before: LATEST }, 10)).toHaveLength(1);
      return reads;
    };
    const once = await read();
    expect(once).toBeGreaterThan(0);
    clock.advance(600);
    expect(await read()).toBe(once);
    // Idle since then, not since it began.
    clock.advance(600);
    expect(await read()).toBe(once);
    clock.advance(1000);
    clock.advance(1000);
    expect(await read()).toBe(2 * once);
    await trial.stop();
  },
);
