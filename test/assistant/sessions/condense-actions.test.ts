/** What NOTES ask for (S-2.6), and the machine's own compaction of a prompt that has grown full. */
import { expect, test } from "vitest";
import type { RunId, SessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { getSummaryPrompt } from "../../../src/prompts/summary-prompt.ts";
import { readCheckpoint, summaryIn } from "../../../src/runtime/checkpoint/session-checkpoint.ts";
import type { ModelRequest } from "../../../src/runtime/ports/model-backend.ts";
import { openingMessages, openingRefs, readAcceptance } from "../../../src/runtime/run/acceptance.ts";
import { Conversation } from "../../../src/runtime/run/conversation.ts";
import { readBodiesOf } from "../../../src/runtime/run/read-run.ts";
import { COMPACTION_SOURCE } from "../../../src/runtime/run/run-rules.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile, type Trial } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { calls, type ModelScript, says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const store = storeOfFile();
const NOTES = (patch: object): string => `Noted.\n<<<NOTES_JSON>>>\n${JSON.stringify(patch)}\n<<<END_NOTES_JSON>>>`;
const SUMMARY = "They exchanged greetings by number, and nothing is open between them.";

const lastAsked = ({ messages }: ModelRequest): string =>
  messages.findLast(({ role }) => role === "user")?.content ?? "";
const promptOf = (request: ModelRequest | undefined): string =>
  request?.messages.map(({ content }) => content).join("\n---\n") ?? "";

const noting: ModelScript = (request) => {
  if (request.messages[0]?.content === getSummaryPrompt().content) return says(SUMMARY);
  const asked = lastAsked(request);
  return says(asked.startsWith("condense") ? NOTES({ actions: [asked] }) : `answer to ${asked}`);
};

async function ask(trial: Trial, message: string, sessionId?: SessionId): Promise<SessionId> {
  const runId = await trial.submit(message, sessionId === undefined ? {} : { sessionId });
  const run = await trial.ended(runId);
  await trial.followedUp(runId);
  for (const open of await trial.store.openRunsOf(run.sessionId, 10)) {
    if (open.source === COMPACTION_SOURCE) await trial.ended(open.runId);
  }
  return run.sessionId;
}

async function talk(trial: Trial, turns: number): Promise<SessionId> {
  let sessionId = await ask(trial, "hello 1");
  for (let at = 2; at <= turns; at += 1) sessionId = await ask(trial, `hello ${at}`, sessionId);
  return sessionId;
}

verifies(
  ["S-2.1/actions", "S-2.3", "S-2.6"],
  "condense_now takes all but the newest turns out of the next prompt, without a model",
  async () => {
    const model = scriptedModel(noting);
    const trial = openTrial({ store: store(), world: outsideWorld(), model });
    const sessionId = await talk(trial, 8);
    const asked = model.requests.length;
    await ask(trial, "condense_now", sessionId);
    expect(model.requests).toHaveLength(asked + 1);
    const checkpoint = await readCheckpoint(trial.store, sessionId);
    expect(checkpoint).toMatchObject({ revision: 1, summary: null });
    expect(checkpoint.condensedThrough).toBeGreaterThan(0);
    await ask(trial, "hello again", sessionId);
    const prompt = promptOf(model.requests.at(-1)?.request);
    expect(prompt).not.toContain("answer to hello 3");
    for (let at = 4; at <= 8; at += 1) expect(prompt).toContain(`answer to hello ${at}`);
    const entries = (await trial.store.sessionRuns(sessionId, { after: 0, before: 1e9 }, 20)).at(-2);
    const recorded = JSON.stringify(await trial.entries(entries?.runId as RunId));
    expect(recorded).toContain('{"action":"condense_now","status":"applied"}');
    await trial.stop();
  },
);

verifies(["S-2.3", "S-2.6"], "condense_smart has the earlier turns summarised when its run has ended", async () => {
  const model = scriptedModel(noting);
  const trial = openTrial({ store: store(), world: outsideWorld(), model });
  const sessionId = await talk(trial, 5);
  await ask(trial, "condense_smart", sessionId);
  expect(summaryIn(await readCheckpoint(trial.store, sessionId))).toMatchObject({ text: SUMMARY, turns: 3 });
  await ask(trial, "hello again", sessionId);
  const prompt = promptOf(model.requests.at(-1)?.request);
  expect(prompt).toContain(SUMMARY);
  expect(prompt).not.toContain("answer to hello 3");
  expect(prompt).toContain("answer to hello 4");
  await trial.stop();
});

test("a prompt that has grown full in a run loses the earlier turns and shortens earlier results, in pairs", async () => {
  const big = "word ".repeat(900);
  const world = outsideWorld();
  world.conduct = (_tool, args) => `${String(args["thing"])} ${big}`;
  const model = scriptedModel((request) => {
    const asked = lastAsked(request);
    const results = request.messages.slice(request.messages.findLastIndex(({ role }) => role === "user"));
    const at = results.filter(({ role }) => role === "tool").length;
    if (!asked.startsWith("work") || at === 4) return says(`answer to ${asked}`);
    return calls([{ id: `c${at}`, tool: "look.at", args: { thing: `${at}` } }]);
  });
  const trial = openTrial({ store: store(), world, model });
  const sessionId = await talk(trial, 4);
  const runId = await trial.submit("work", {
    sessionId,
    contract: { contextBudget: { contextWindow: 20_000, forceSynthesisAtRatio: 0.25 } },
  });
  const run = await trial.ended(runId);
  expect(run.outcome).toBe("COMPLETED_WITH_TOOLS");
  const entries = await trial.entries(runId);
  const compacted = entries
    .flatMap(({ decided }) => ("heard" in decided ? decided.heard : []))
    .filter(({ type }) => type === "context.compacted");
  expect(compacted[0]).toMatchObject({ succeeded: true });
  const last = model.requests.at(-1)?.request;
  expect(promptOf(last)).not.toContain("answer to hello");
  // Every call keeps its result.
  const asked = last?.messages.flatMap((message) =>
    message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : [],
  );
  const answered = last?.messages.flatMap((message) => (message.role === "tool" ? [message.callId] : []));
  expect(answered).toEqual(asked);
  // A resumed run comes to the same messages.
  const acceptance = readAcceptance(run.accepted);
  const bodies = await readBodiesOf(trial.store, run, entries, openingRefs(acceptance));
  const read = (ref: Parameters<typeof bodies.get>[0]): string | null => bodies.get(ref)?.text ?? null;
  const again = new Conversation(
    openingMessages(acceptance, (id) => trial.drafting.texts.textOf(id), read),
    read,
  );
  again.append(entries);
  expect(again.messages("normal").slice(0, -1)).toEqual(
    last?.messages.filter(({ role }, at, all) => role !== "system" || at < all.length - 1),
  );
  await trial.stop();
});

verifies(
  "P-5.3",
  "before a run, turns that do not fit the model's window are left out, and the message is sent",
  async () => {
    const model = scriptedModel((request) => says(`answer to ${lastAsked(request)} ${"word ".repeat(200)}`), {
      contextWindow: 2600,
    });
    const trial = openTrial({ store: store(), world: outsideWorld(), model });
    const sessionId = await talk(trial, 8);
    const runs = await trial.store.sessionRuns(sessionId, { after: 0, before: 1e9 }, 20);
    expect(runs.filter(({ source }) => source !== COMPACTION_SOURCE).map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 8 }, () => "COMPLETED_CHAT_ONLY"),
    );
    await trial.stop();
  },
);
