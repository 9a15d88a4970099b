/** Watching a run: what is recorded, then what happens, without a gap and without a repeat. */
import { describe, expect, test } from "vitest";
import type { RunNews } from "../../src/assistant/assistant.ts";
import { lifecycleEvents } from "../../src/kernel/journal/views/lifecycle-events.ts";
import type { RunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { openTrial, storeOfFile, type Trial } from "../runtime/trial/open-trial.ts";
import { outsideWorld } from "../runtime/trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "../runtime/trial/scripted-model.ts";

const store = storeOfFile();
const look = (id: string) => calls([{ id, tool: "look.at", args: { thing: id } }]);

async function collect(trial: Trial, runId: RunId, afterSeq: number, until = new AbortController().signal) {
  const news: RunNews[] = [];
  for await (const item of (await trial.assistant.watch(runId, afterSeq, until)) ?? []) news.push(item);
  return news;
}

const seqs = (news: readonly RunNews[]) => news.flatMap((item) => (item.kind === "event" ? [item.event.seq] : []));

describe("watching a run", () => {
  test("from any event on, before, while and after it works, tells each event once and in order", async () => {
    const model = scriptedModel(inTurns(look("call_1"), look("call_2"), says("All done, and gladly.")));
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("look twice");
    const live = await Promise.all([0, 0, 2, 5].map((after) => collect(trial, runId, after)));
    const events = lifecycleEvents(await trial.entries(runId));
    const all = events.map(({ seq }) => seq);
    for (const [index, after] of [0, 0, 2, 5].entries()) {
      expect(seqs(live[index] ?? [])).toEqual(all.filter((seq) => seq > after));
    }
    for (let after = 0; after <= all.length; after += 1) {
      const later = await collect(trial, runId, after);
      expect(later).toEqual(events.slice(after).map((event) => ({ kind: "event", event })));
    }
    await trial.stop();
  });

  test("ends when nobody listens any more, and leaves no watcher behind", async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const model = scriptedModel(() => {
      ask();
      return new Promise(() => {});
    });
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("think");
    const controller = new AbortController();
    const watched = collect(trial, runId, 0, controller.signal);
    await asked;
    await trial.recorded(runId, "run.created");
    controller.abort();
    await watched;
    await trial.runtime.cancel(runId, "tester");
    await trial.ended(runId);
    expect(await trial.assistant.watch("run_none" as RunId, 0, controller.signal)).toBeNull();
    await trial.stop();
  });
});
