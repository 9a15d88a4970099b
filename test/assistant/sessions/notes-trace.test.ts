/** NOTES through the real runtime: what each key changes, what the trace says of it, and that the user sees none of it. */
import { expect } from "vitest";
import { traceEvents } from "../../../src/kernel/journal/views/trace-events.ts";
import { notedState, readCheckpoint } from "../../../src/runtime/checkpoint/session-checkpoint.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const store = storeOfFile();
const NOTES = (block: string): string => `Noted.\n<<<NOTES_JSON>>>\n${block}\n<<<END_NOTES_JSON>>>`;

async function note(...blocks: readonly string[]) {
  const trial = openTrial({
    store: store(),
    world: outsideWorld(),
    model: scriptedModel(({ messages }) =>
      says(NOTES(messages.findLast(({ role }) => role === "user")?.content ?? "")),
    ),
  });
  let sessionId: Parameters<typeof readCheckpoint>[1] | undefined;
  let runId = await trial.submit(blocks[0] ?? "");
  ({ sessionId } = await trial.ended(runId));
  for (const block of blocks.slice(1)) {
    runId = await trial.submit(block, { sessionId });
    await trial.ended(runId);
  }
  const checkpoint = await readCheckpoint(trial.store, sessionId);
  const trace = traceEvents(await trial.entries(runId)).filter(
    ({ kind }) => kind === "notes_patch" || kind === "actions",
  );
  const record = await trial.assistant.run(runId);
  await trial.stop();
  return { noted: notedState(checkpoint), revision: checkpoint.revision, trace, record };
}

verifies(
  ["S-2.2", "S-2.5"],
  "every key of a patch changes what the session remembers, and the patch is traced",
  async () => {
    const { noted, revision, trace } = await note(
      '{"set_goals":["ship"],"add_open_loops":["a","b"],"add_decisions":["d"],"add_constraints":["c"]}',
      '{"close_open_loops":["a"],"set_episode_summary":"short","add_memory_tags":["t"],"actions":["request_permission:net"]}',
    );
    expect(noted).toMatchObject({
      ...{ goals: ["ship"], openLoops: ["b"], decisions: ["d"], constraints: ["c"] },
      ...{ episodeSummary: "short", memoryTags: ["t"] },
    });
    expect(revision).toBe(2);
    expect(trace.map(({ kind, data }) => ({ kind, data }))).toMatchObject([
      { kind: "notes_patch", data: { status: "applied", ref: expect.any(String) } },
      { kind: "actions", data: { actions: [{ action: "request_permission:net", status: "applied" }] } },
    ]);
    expect(trace[0]?.data).not.toHaveProperty("unknown_keys");
  },
);

verifies(
  ["S-2.3", "S-2.5"],
  "unknown keys and actions change nothing and are traced, without what they say",
  async () => {
    const { noted, revision, trace, record } = await note(
      '{"grant_all":"swordfish","setGoals":["swordfish"],"actions":["launch:swordfish"]}',
    );
    expect([noted.goals, revision]).toEqual([[], 0]);
    expect(trace.map(({ kind, data }) => ({ kind, data }))).toMatchObject([
      { kind: "notes_patch", data: { status: "applied", unknown_keys: 2 } },
      { kind: "actions", data: { actions: [{ action: "unknown", status: "ignored" }] } },
    ]);
    expect(JSON.stringify(trace)).not.toContain("swordfish");
    expect(record).toMatchObject({ output: "Noted.\n" });
  },
);

verifies("S-2.5", "a malformed block changes nothing, is traced, and is not shown", async () => {
  const { revision, trace, record } = await note('{"set_goals":"swordfish"}');
  expect(revision).toBe(0);
  expect(trace.map(({ data }) => data)).toMatchObject([{ status: "malformed", ref: null }]);
  expect(record).toMatchObject({ output: "Noted.\n" });
});
