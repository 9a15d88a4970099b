/** Every fault that can be staged, in the order of security.md. */
import { canary } from "./canary.ts";
import { failingProvider } from "./failing-provider.ts";
import { failingSync } from "./failing-sync.ts";
import type { Fault } from "./fault.ts";
import { fullDisk } from "./full-disk.ts";
import { fullQueue } from "./full-queue.ts";
import { idleSockets } from "./idle-sockets.ts";
import { killAtEveryCall } from "./kill-at-every-call.ts";
import { killAtRandom } from "./kill-at-random.ts";
import { killedProjector } from "./killed-projector.ts";
import { lockedDatabase } from "./locked-database.ts";
import { replayRecorded } from "./replay-recorded.ts";
import { simulatedSeeds } from "./simulated-seeds.ts";
import { slowSenders } from "./slow-senders.ts";
import { stopUnderLoad } from "./stop-under-load.ts";
import { tamperedHome } from "./tampered-home.ts";
import { tornFiles } from "./torn-files.ts";

export const FAULTS: readonly Fault[] = [
  killAtRandom,
  killAtEveryCall,
  fullDisk,
  failingSync,
  lockedDatabase,
  failingProvider,
  idleSockets,
  fullQueue,
  slowSenders,
  stopUnderLoad,
  replayRecorded,
  simulatedSeeds,
  tamperedHome,
  killedProjector,
  tornFiles,
  canary,
];
