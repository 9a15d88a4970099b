/** The records thread: reads the store through a connection of its own, and writes a few runs' records when asked. */
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { RunRecords } from "../adapters/records/run-records.ts";
import { openSqliteReader } from "../adapters/store-sqlite/open-sqlite-reader.ts";
import { Defect } from "../kernel/vocabulary/defect.ts";
import type { RecordsReply, RecordsRequest, RecordsWorkerData } from "./records-thread.ts";

if (parentPort === null) throw new Defect("the records thread runs as a thread only");
const port = parentPort;
const { home } = workerData as RecordsWorkerData;

const LOWEST_PRIORITY = 19;
// Linux applies it to the calling thread; elsewhere it would slow the whole process.
if (process.platform === "linux") setPriority(LOWEST_PRIORITY);

const store = await openSqliteReader(home);
const reply = (message: RecordsReply): void => port.postMessage(message);
const records = new RunRecords({
  store,
  homeDirectory: home,
  onUnreadable: (runId, error) => reply({ runId, problem: String(error) }),
});

port.on("message", (request: RecordsRequest) => {
  if (request === "close") {
    store.close().finally(() => port.close());
    return;
  }
  records.project(request.maxRuns).then(
    (isMore) => reply({ isMore }),
    (error: unknown) => reply({ failure: String(error) }),
  );
});
