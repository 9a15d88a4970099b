/** What a session adds to the prompts of its runs, through whole runs. */
import { expect } from "vitest";
import type { ContextLimits } from "../../../src/assistant/context/context-limits.ts";
import type { PromptMessage } from "../../../src/runtime/ports/model-backend.ts";
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

verifies("O-6.1", "an agent's own limits decide how much of a conversation its model is sent", async () => {
  const usual = await lastPrompt({});
  expect(asked(usual)).toEqual([1, 2, 3, 4, 5].map((number) => `message ${number}`));
  expect(usual.some(({ role }) => role === "tool")).toBe(true);
  expect(asked(await lastPrompt({ maxTurns: 2 }))).toEqual(["message 3", "message 4", "message 5"]);
  expect((await lastPrompt({ toolResultTokens: 0 })).some(({ role }) => role === "tool")).toBe(false);
  expect(asked(await lastPrompt({ messageChars: 7 })).slice(-2)).toEqual(["messag…", "message 5"]);
});
