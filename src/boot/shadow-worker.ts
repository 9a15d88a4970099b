/** The shadow thread: watches, and reports what it finds. It has no store, no model and no network. */
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { ShadowWatcher } from "../adapters/shadow/shadow-watcher.ts";
import { compileRedactor } from "../kernel/redaction/redact.ts";
import { Defect } from "../kernel/vocabulary/defect.ts";
import type { ShadowReport, ShadowWorkerData } from "./shadow-thread.ts";
import { systemClock } from "./system-clock.ts";

if (parentPort === null) throw new Defect("the shadow loop watches in a thread only");
const port = parentPort;
const { orders } = workerData as ShadowWorkerData;

const LOW_PRIORITY = 10;
// Linux applies it to the calling thread; elsewhere it would slow the whole process.
if (process.platform === "linux") setPriority(LOW_PRIORITY);

const report = (message: ShadowReport): void => port.postMessage(message);
// Secrets by their shape: those of this home are not handed to a thread that reads what others wrote.
const compiled = compileRedactor({ secrets: [], emails: false, phones: false });
if (!compiled.ok) throw new Defect("no redactor");
const watcher = new ShadowWatcher({
  ...{ orders, clock: systemClock, redactor: compiled.redactor },
  onFinding: (finding) => report({ finding }),
  onProblem: (problem) => report({ problem }),
});
await watcher.start();
report({ known: watcher.status.known });
port.on("message", (request: "close") => {
  if (request === "close") watcher.stop().finally(() => port.close());
});
