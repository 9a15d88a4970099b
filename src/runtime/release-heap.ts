/**
 * Gives this thread's unused heap back to the system: by itself V8 keeps what a burst of work took for as long as a
 * process is idle. It pauses the thread for some tens of milliseconds, so it is for moments with nothing to do.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

type CollectGarbage = (options: { type: "major"; execution: "sync"; flavor: "last-resort" }) => void;

let collectGarbage: CollectGarbage | null = null;

export function releaseHeap(): void {
  if (collectGarbage === null) {
    // Only contexts made afterwards have `gc`, so nothing else can call it.
    setFlagsFromString("--expose-gc");
    collectGarbage = runInNewContext("gc") as CollectGarbage;
    setFlagsFromString("--no-expose-gc");
  }
  collectGarbage({ type: "major", execution: "sync", flavor: "last-resort" });
}
