/** Watching a run: what is recorded, then what happens, without a gap and without a repeat. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RunUpdate } from "../../../src/assistant/runs/run-updates.ts";
import { watchRun } from "../../../src/assistant/runs/watch-run.ts";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import { toLine } from "../../../src/kernel/journal/journal-lines.ts";
import { lifecycleEvent } from "../../../src/kernel/journal/views/lifecycle-events.ts";
import { runTimeline } from "../../../src/kernel/journal/views/run-timeline.ts";
import { compileDisclosureGuard } from "../../../src/kernel/redaction/disclosure-guard.ts";
import { compileRedactor } from "../../../src/kernel/redaction/redact.ts";
import type { BodyRef, RunId, SessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { LiveText } from "../../../src/runtime/model/release-text.ts";
import { readBodiesOf } from "../../../src/runtime/run/read-run.ts";
import { RunBroadcaster } from "../../../src/runtime/run/run-broadcaster.ts";
import { openTrial, storeOfFile, type Trial } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const store = storeOfFile();
const look = (id: string) => calls([{ id, tool: "look.at", args: { thing: id } }]);

async function collect(trial: Trial, runId: RunId, afterSeq: number, until = new AbortController().signal) {
  const news: RunUpdate[] = [];
  for await (const item of (await trial.assistant.watch(runId, afterSeq, until)) ?? []) news.push(item);
  return news;
}

const seqs = (news: readonly RunUpdate[]) => news.flatMap((item) => (item.kind === "event" ? [item.event.seq] : []));

const compiled = compileRedactor({ secrets: [], emails: false, phones: false });
if (!compiled.ok) throw new Error("the redactor did not compile");
const { redactor } = compiled;
const guard = compileDisclosureGuard([]);

describe("watching a run", () => {
  test("from any event on, before, while and after it works, tells each event once and in order", async () => {
    const model = scriptedModel(inTurns(look("call_1"), look("call_2"), says("All done, and gladly.")));
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("look twice");
    const live = await Promise.all([0, 0, 2, 5].map((after) => collect(trial, runId, after)));
    const entries = await trial.entries(runId);
    const bodies = await readBodiesOf(
      trial.store,
      { runId, sessionId: runTimeline(entries)[0]?.sessionId as SessionId },
      entries,
    );
    const lookup = (ref: BodyRef) => bodies.get(ref)?.text ?? null;
    const events = runTimeline(entries).map((item) => lifecycleEvent(item, lookup));
    expect(events.flatMap((event) => (event.event_type === "tool.call" ? [event.payload.shown] : []))).toEqual([
      'look.at thing="call_1"',
      'look.at thing="call_2"',
    ]);
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

  test("tells how long a provider wants to be waited for, while it is", async () => {
    const busy = { ok: false, code: "provider.rate-limited", retryable: true, retryAfterMs: 400, usage: null } as const;
    const replies = [busy, says("All done.")];
    const model = scriptedModel(() => replies.shift() ?? busy);
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("think");
    const live = await collect(trial, runId, 0);
    expect(live.filter(({ kind }) => kind === "wait")).toEqual([
      { kind: "wait", code: "provider.rate-limited", waitMs: 400 },
    ]);
    const later = await collect(trial, runId, 0);
    expect(later.map(({ kind }) => kind)).not.toContain("wait");
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

describe("whenever somebody begins to watch", () => {
  /** The run goes on at the given places of its journal, also while that is read. */
  async function watchedFrom(entries: readonly Entry[], begin: number, cuts: readonly number[]) {
    const [first] = entries;
    if (first === undefined) throw new Error("an empty journal");
    const { runId } = first;
    const news = new RunBroadcaster();
    news.register(runId);
    let durable = 0;
    let told = 0;
    let reads = 0;
    const goOn = (to: number): void => {
      durable = Math.max(durable, to);
      if (durable > told) news.entries(runId, entries.slice(told, durable), () => null);
      told = durable;
    };
    const store = {
      readEntries: (_: RunId, after: number, limit: number) => {
        reads += 1;
        const lines = entries.slice(after, Math.min(durable, after + limit)).map(toLine);
        goOn(durable + 1);
        return Promise.resolve(lines);
      },
      readBodies: () => Promise.resolve(new Map()),
      findRun: () => Promise.resolve(null),
    };
    goOn(begin);
    const heard: RunUpdate[] = [];
    const runtime = {
      watch: news.watch.bind(news),
      isUnpublished: (id: RunId) => news.isUnpublished(id),
    };
    const watching = (async () => {
      for await (const item of watchRun(store, runtime, runId, 0, new AbortController().signal)) heard.push(item);
    })();
    for (const cut of [...cuts, entries.length]) {
      await Promise.resolve();
      goOn(cut);
    }
    await watching;
    return { heard, reads, isWatched: news.hasWatchers(runId) };
  }

  test("every event is told once, in order, and no journal is read of which nothing was told", async () => {
    const model = scriptedModel(inTurns(look("call_1"), look("call_2"), says("All done.")));
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("look twice");
    await trial.ended(runId);
    const entries = await trial.entries(runId);
    const events = runTimeline(entries).map((item) => ({ kind: "event", event: lifecycleEvent(item, () => null) }));
    const place = fc.nat({ max: entries.length });
    await fc.assert(
      fc.asyncProperty(place, fc.array(place, { maxLength: 6 }), async (begin, cuts) => {
        const { heard, reads, isWatched } = await watchedFrom(entries, begin, cuts);
        expect(heard).toEqual(events);
        expect(reads > 0).toBe(begin > 0);
        expect(isWatched).toBe(false);
      }),
    );
    await trial.stop();
  });

  test("text stands between what was recorded before its attempt and what is recorded of it, however early it comes", async () => {
    const model = scriptedModel(inTurns(look("call_1"), look("call_2"), says("All done.")));
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("look twice");
    await trial.ended(runId);
    const entries = await trial.entries(runId);
    await trial.stop();
    const places = fc.tuple(...[1, 2, 3].map((attempt) => fc.nat({ max: placeOf(entries, attempt) })));
    const rhythm = fc.array(fc.nat({ max: entries.length }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(places, rhythm, async (early, cuts) => {
        const told = await toldWith(entries, early, cuts);
        expect(told).toEqual([
          ...["run.created", "run.started", "text 1", "model.requested", "tool.call", "tool.result"],
          ...["text 2", "model.requested", "tool.call", "tool.result", "text 3", "model.requested", "run.completed"],
        ]);
      }),
    );
  });

  /** How many entries are there when the attempt is made. */
  function placeOf(entries: readonly Entry[], attempt: number): number {
    return entries.findIndex((entry) => entry.kind === "INFER" && entry.decided.attempt === attempt);
  }

  /** The text of each attempt comes when so many entries have been told, and they come in batches. */
  async function toldWith(entries: readonly Entry[], early: readonly number[], cuts: readonly number[]) {
    const runId = entries[0]?.runId as RunId;
    const news = new RunBroadcaster();
    news.register(runId);
    const runtime = { watch: news.watch.bind(news), isUnpublished: (id: RunId) => news.isUnpublished(id) };
    const told: string[] = [];
    const store = {
      readEntries: () => Promise.resolve([]),
      readBodies: () => Promise.resolve(new Map()),
      findRun: () => Promise.resolve(null),
    };
    const watching = (async () => {
      for await (const item of watchRun(store, runtime, runId, 0, new AbortController().signal)) {
        if (item.kind === "event") told.push(item.event.event_type);
        if (item.kind === "delta") told.push(`text ${item.attempt}`);
      }
    })();
    for (let count = 0; count <= entries.length; count += 1) {
      for (const [index, place] of early.entries()) {
        if (place !== count) continue;
        const text = new LiveText({ attempt: index + 1 }, { adapterVersion: "native-tools@2" }, guard, redactor);
        news.beginText(runId, text);
        text.push("…");
        text.finish();
        news.delta(runId);
      }
      news.entries(runId, entries.slice(count, count + 1), () => null);
      if (cuts.includes(count)) await Promise.resolve();
    }
    await watching;
    return told;
  }

  test("a run is untold from its acceptance to its first entries, and never again", async () => {
    const model = scriptedModel(inTurns(says("Well.")));
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("think");
    expect(trial.runtime.isUnpublished(runId)).toBe(true);
    await trial.ended(runId);
    expect(trial.runtime.isUnpublished(runId)).toBe(false);
    expect(trial.runtime.isUnpublished("run_none" as RunId)).toBe(false);
    await trial.stop();
  });
});
