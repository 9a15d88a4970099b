/** Watches a run: its recorded events after `afterSeq`, then live ones, in the order of follow-run.ts. */
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import { lifecycleEvent } from "../../kernel/journal/views/lifecycle-events.ts";
import { thoughtsRefOf } from "../../kernel/journal/views/run-record.ts";
import type { TimelineItem } from "../../kernel/journal/views/run-timeline.ts";
import type { BodyRef, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Store } from "../../runtime/ports/store.ts";
import { readBodies } from "../../runtime/run/read-run.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { followRun } from "./follow-run.ts";
import type { RunUpdate } from "./run-updates.ts";

export async function* watchRun(
  store: Pick<Store, "readEntries" | "readBodies" | "findRun">,
  runtime: Pick<Runtime, "watch" | "isUnpublished">,
  runId: RunId,
  afterSeq: number,
  signal: AbortSignal,
): AsyncGenerator<RunUpdate> {
  let showsThoughts: boolean | null = null;
  const isThoughtShown = async (): Promise<boolean> => {
    showsThoughts ??= (await store.findRun(runId))?.thinkingMode === "always";
    return showsThoughts;
  };
  for await (const happening of followRun(store, runtime, runId, signal)) {
    if (happening.kind !== "recorded") {
      yield happening;
      continue;
    }
    const due = happening.items.filter(({ seq }) => seq > afterSeq);
    const thoughts = due.flatMap((item) => (item.kind === "asked" ? (thoughtsRefOf(item.entry) ?? []) : []));
    const shown = thoughts.length > 0 && (await isThoughtShown()) ? thoughts : [];
    const lookup = await bodiesFor(store, runId, due, shown, happening.textOf);
    for (const item of due) yield { kind: "event", event: lifecycleEvent(item, lookup) };
  }
}

/** Arguments and errors, which the events of a run quote for those who may watch it. */
async function bodiesFor(
  store: Pick<Store, "readBodies">,
  runId: RunId,
  items: readonly TimelineItem[],
  thoughts: readonly BodyRef[],
  textOf: Lookup,
): Promise<Lookup> {
  const called = items.flatMap((item) => {
    if (item.kind === "called") return [item.call.argsRef];
    return item.kind === "call-ended" ? (item.outcome.error?.messageRef ?? []) : [];
  });
  const refs = [...called, ...thoughts].filter((ref) => textOf(ref) === null);
  const [first] = items;
  if (first === undefined || refs.length === 0) return textOf;
  const bodies = await readBodies(store, first.sessionId as SessionId, [...new Set(refs)], runId);
  return (ref) => textOf(ref) ?? bodies.get(ref)?.text ?? null;
}
