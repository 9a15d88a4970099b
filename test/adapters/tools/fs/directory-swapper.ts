/** Runs in a thread of its own: swaps a directory for a link that leads out, and back, until it must stop. */
import { renameSync, symlinkSync, unlinkSync } from "node:fs";
import { workerData } from "node:worker_threads";

const { directory, aside, outside, shared } = workerData as {
  readonly directory: string;
  readonly aside: string;
  readonly outside: string;
  /** Whether to stop, and how often it swapped. */
  readonly shared: Int32Array<SharedArrayBuffer>;
};

const MAX_SWAPS = 1_000_000;

for (let swaps = 0; Atomics.load(shared, 0) === 0 && swaps < MAX_SWAPS; swaps += 1) {
  renameSync(directory, aside);
  // A write may recreate the directory meanwhile: then that one is moved aside too, and stays there.
  insist(swaps, () => symlinkSync(outside, directory));
  unlinkSync(directory);
  insist(swaps, () => renameSync(aside, directory));
  Atomics.add(shared, 1, 1);
  Atomics.notify(shared, 1);
}

function insist(round: number, act: () => void): void {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    try {
      act();
      return;
    } catch {
      renameSync(directory, `${aside}-${round}-${attempt}`);
    }
  }
}
