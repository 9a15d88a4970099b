/**
 * Watching a run: first what is recorded, then what happens, without a gap and without a repeat.
 *
 * W1. The watcher is in place before the journal is read; what comes twice is dropped by its seq.
 * W2. It ends after the terminal event, or when the signal aborts; then nobody is watching any more. When the store fails
 *     it throws: what became of the run is for the next start to say.
 */
import type { Entry } from "../kernel/journal/entry.ts";
import { lifecycleEvent } from "../kernel/journal/views/lifecycle-events.ts";
import { BEFORE_THE_FIRST, readOn } from "../kernel/journal/views/run-moments.ts";
import type { RunId } from "../kernel/vocabulary/identifiers.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { ToolOutput } from "../runtime/release-output.ts";
import type { Delta } from "../runtime/release-text.ts";
import { readWholeJournal } from "../runtime/run-journal.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RunNews } from "./assistant.ts";

const MAX_WAITING = 1_000;
const NOTHING = { seq: 0 };

type Heard =
  | { readonly entries: readonly Entry[] }
  | { readonly delta: Delta }
  | { readonly output: ToolOutput }
  | { readonly error: unknown };

export async function* watchRun(
  store: Store,
  runtime: Pick<Runtime, "watch">,
  runId: RunId,
  afterSeq: number,
  signal: AbortSignal,
): AsyncGenerator<RunNews> {
  const heard: Heard[] = [];
  let wakeUp = (): void => {};
  const put = (item: Heard): void => {
    // Somebody who reads slower than a model writes misses text, which is live only, and no event.
    if (("delta" in item || "output" in item) && heard.length >= MAX_WAITING) return;
    heard.push(item);
    wakeUp();
  };
  const stopWatching = runtime.watch(runId, {
    entries: (entries) => put({ entries }),
    delta: (delta) => put({ delta }),
    output: (output) => put({ output }),
    broken: (error) => put({ error }),
  });
  const onAbort = (): void => wakeUp();
  signal.addEventListener("abort", onAbort);
  try {
    const { entries: recorded } = await readWholeJournal(store, runId);
    let fresh: readonly Entry[] = recorded;
    let last: Entry | undefined;
    let reading = BEFORE_THE_FIRST;
    for (;;) {
      for (const entry of fresh) {
        const { now, next } = readOn(reading, entry);
        last = entry;
        reading = next;
        for (const moment of now) if (moment.seq > afterSeq) yield { kind: "event", event: lifecycleEvent(moment) };
      }
      fresh = [];
      if (last?.kind === "TERMINATE" || signal.aborted) return;
      while (heard.length === 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wakeUp = resolve;
        });
      }
      for (const item of heard.splice(0)) {
        if ("error" in item) throw item.error;
        if ("delta" in item) yield { kind: "delta", ...item.delta };
        else if ("output" in item) yield { kind: "output", ...item.output };
        else fresh = [...fresh, ...item.entries.filter(({ seq }) => seq > (fresh.at(-1) ?? last ?? NOTHING).seq)];
      }
    }
  } finally {
    stopWatching();
    signal.removeEventListener("abort", onAbort);
  }
}
