/** The process dies at any commit of a compaction: the session is as before or condensed, never in between. */
import { expect } from "vitest";
import type { SessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { getSummaryPrompt } from "../../../src/prompts/summary-prompt.ts";
import { readCheckpoint, summaryIn } from "../../../src/runtime/checkpoint/session-checkpoint.ts";
import { COMPACTION_SOURCE } from "../../../src/runtime/run/run-rules.ts";
import { verifies } from "../../requirements.ts";
import { type Death, mortalStore } from "../../runtime/trial/mortal-store.ts";
import { openTrial, storeOfFile } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const store = storeOfFile();
const SUMMARY = "They greeted each other six times, and nothing else was said between them.";
const model = scriptedModel(({ messages }) =>
  says(messages[0]?.content === getSummaryPrompt().content ? SUMMARY : `answer to ${messages.at(-1)?.content}`),
);
const open = (on = store()) => openTrial({ store: on, world: outsideWorld("at once"), model });

async function sessionOfSix(): Promise<SessionId> {
  const trial = open();
  let sessionId: SessionId | null = null;
  for (let turn = 1; turn <= 6; turn += 1) {
    const run = await trial.ended(await trial.submit(`hello ${turn}`, sessionId === null ? {} : { sessionId }));
    sessionId = run.sessionId;
  }
  await trial.stop();
  return sessionId as SessionId;
}

interface Lives {
  readonly hasDied: boolean;
  readonly wasBegun: boolean;
}

async function liveTwice(death: Death): Promise<Lives> {
  const sessionId = await sessionOfSix();
  const before = await readCheckpoint(store(), sessionId);
  const mortal = mortalStore(store(), death);
  const first = open(mortal);
  const finished = first.compaction.begin(sessionId, "tester").then(async (begun) => {
    if (begun.ok) await first.ended(begun.runId);
    return false;
  });
  const hasDied = await Promise.race([mortal.died.then(() => true), finished]);
  await store().commit([], "barrier");
  // What the crash left behind.
  const between = await readCheckpoint(store(), sessionId);
  const compactions = async () => {
    const ended = await store().sessionRuns(sessionId, { after: 0, before: 1e9 }, 100);
    return [...ended, ...(await store().openRunsOf(sessionId, 10))].filter(
      ({ source }) => source === COMPACTION_SOURCE,
    );
  };
  const [run, ...others] = await compactions();
  expect(others).toEqual([]);
  const isCondensed = summaryIn(between) !== null;
  if (!isCondensed) expect(between).toEqual(before);
  // The summary is there exactly when its run has ended with it.
  expect(isCondensed).toBe(run?.outcome === "COMPLETED_CHAT_ONLY");
  const next = open();
  await next.runtime.recover();
  if (run !== undefined) {
    expect((await next.ended(run.runId)).outcome).toBe("COMPLETED_CHAT_ONLY");
    const after = await readCheckpoint(store(), sessionId);
    expect(after.revision).toBe(before.revision + 1);
    expect(summaryIn(after)).toMatchObject({ text: SUMMARY, turns: 3, writtenBy: run.runId });
  } else {
    expect(await readCheckpoint(store(), sessionId)).toEqual(before);
  }
  expect([...first.defects, ...next.defects]).toEqual([]);
  await next.stop();
  return { hasDied, wasBegun: run !== undefined };
}

for (const lastOneLands of [false, true]) {
  const loss = lastOneLands ? "reached the disk unacknowledged" : "was lost";
  verifies(
    ["X-8", "S-1.2/atomic"],
    `a compaction killed at any commit that ${loss}: the session is as before or condensed, and the next process finishes it`,
    async () => {
      const lives: Lives[] = [];
      for (let after = 0; lives.at(-1)?.hasDied !== false; after += 1)
        lives.push(await liveTwice({ after, lastOneLands }));
      expect(lives.length).toBeGreaterThan(2);
      expect(lives.slice(1).every(({ wasBegun }) => wasBegun)).toBe(true);
    },
  );
}
