/**
 * The writer thread: nobody else changes the database.
 *
 * T1. While one transaction is synced the next commits gather, and go in one transaction after it.
 * T2. The log is carried over when the store says that nobody is waiting, and emptied when the store closes.
 */
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { openWriting, type Writing } from "./open-writing.ts";
import { lengthenLog } from "./preallocate-wal.ts";
import { type Failure, failureOf, mediumFailureOf } from "./thread-failure.ts";
import type { Commits, WriterReply, WriterRequest, WriterSetup } from "./writer-messages.ts";

if (parentPort === null) throw new Defect("the writer runs as a thread only");
const port = parentPort;
const setup = workerData as WriterSetup;

/** Null once the medium has failed: nothing more is written then, not even what has been given already. */
let writing = open();

port.on("message", (first: WriterRequest) => {
  const requests: WriterRequest[] = [first];
  for (let more = receiveMessageOnPort(port); more !== undefined; more = receiveMessageOnPort(port)) {
    requests.push(more.message as WriterRequest);
  }
  const commits = requests.flatMap((request) => (typeof request === "string" ? [] : request));
  if (commits.length > 0) write(commits);
  if (requests.includes("checkpoint")) checkpoint();
  if (requests.includes("close")) close();
});

function reply(message: WriterReply): void {
  port.postMessage(message);
}

function open(): Writing | null {
  try {
    const opened = openWriting(setup);
    lengthenLog(opened.db, setup.file, setup.busyTimeoutMs);
    return opened;
  } catch (error) {
    reply({ type: "broken", failure: failureOf(error) });
    return null;
  }
}

function write(commits: Commits): void {
  try {
    if (writing === null) return;
    const report = writing.group.commit(commits);
    const isPlain = report.refused.length === 0 && report.spend.length === 0;
    reply(isPlain ? report.commits : { type: "committed", ...report });
  } catch (error) {
    fail(error);
  }
}

function checkpoint(): void {
  try {
    writing?.db.exec("PRAGMA wal_checkpoint(PASSIVE)");
  } catch (error) {
    fail(error);
  }
}

function fail(error: unknown): void {
  writing?.db.close();
  writing = null;
  reply({ type: "broken", failure: mediumFailureOf(error) });
}

function close(): void {
  let failure: Failure | null = null;
  try {
    // Everything that was reported is in the log: what fails here is lost to nobody.
    writing?.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    failure = failureOf(error);
  }
  writing?.db.close();
  reply({ type: "closed", failure });
  port.close();
}
