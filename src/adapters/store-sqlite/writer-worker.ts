/**
 * The writer thread, the only one that changes the database.
 *
 * T1. Commits that arrive while a transaction is being synced go into the next one together.
 * T2. The WAL is checkpointed when the store asks for it, and emptied when the store closes.
 */

import type { DatabaseSync } from "node:sqlite";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { releaseHeap } from "../../runtime/release-heap.ts";
import { copyAll } from "./archive-runs.ts";
import { GroupCommit } from "./group-commit.ts";
import { preallocateWal } from "./preallocate-wal.ts";
import { type Failure, failureOf, mediumFailureOf } from "./sqlite-failure.ts";
import type { ArchiveRequest, Commits, WriterReply, WriterRequest, WriterSetup } from "./thread-messages.ts";

if (parentPort === null) throw new Defect("the writer runs as a thread only");
const port = parentPort;
const setup = workerData as WriterSetup;

/** Commits wait meanwhile. */
const PURGE_TIMEOUT_MS = 200;

/** Null once the medium has failed: from then on nothing is written, including commits already received. */
let writer = open();

port.on("message", (first: WriterRequest) => {
  const requests: WriterRequest[] = [first];
  for (let more = receiveMessageOnPort(port); more !== undefined; more = receiveMessageOnPort(port)) {
    requests.push(more.message as WriterRequest);
  }
  const commits = requests.flatMap((request) => (isCommits(request) ? request : []));
  if (commits.length > 0) write(commits);
  if (requests.includes("checkpoint") || requests.includes("rest")) checkpoint();
  if (requests.includes("rest")) rest();
  for (const request of requests) {
    if (request === "purge") purge();
    else if (typeof request === "object" && !isCommits(request)) archive(request);
  }
  if (requests.includes("close")) close();
});

function isCommits(request: WriterRequest): request is Commits {
  return Array.isArray(request);
}

function reply(message: WriterReply): void {
  port.postMessage(message);
}

function open(): GroupCommit | null {
  try {
    const opened = new GroupCommit(setup);
    preallocateWal(opened.db, setup.file, setup.busyTimeoutMs);
    return opened;
  } catch (error) {
    reply({ type: "broken", failure: failureOf(error) });
    return null;
  }
}

function write(commits: Commits): void {
  try {
    if (writer !== null) reply({ type: "committed", ...writer.commit(commits) });
  } catch (error) {
    fail(error);
  }
}

function checkpoint(): void {
  try {
    writer?.db.exec("PRAGMA wal_checkpoint(PASSIVE)");
  } catch (error) {
    fail(error);
  }
}

/** What many commits at once have taken goes back: pages of the database, and the heap. */
function rest(): void {
  try {
    writer?.db.exec("PRAGMA shrink_memory");
    releaseHeap();
  } catch (error) {
    fail(error);
  }
}

/** Ended runs, while nothing is written. */
function archive({ endedBefore, limit }: ArchiveRequest): void {
  let isMore = false;
  try {
    if (writer !== null) {
      isMore = writer.archive(endedBefore, limit);
      if (!isMore) emptyLog(writer.db);
    }
  } catch (error) {
    failUnlessBusy(error);
  }
  reply({ type: "archived", isMore });
}

/** A home of an earlier version did not overwrite what it deleted: so once everything is copied, and what is left over goes. */
function overwriteEarlier(db: DatabaseSync): void {
  if (db.prepare("SELECT 1 FROM meta WHERE name = 'has_remains'").get() === undefined) return;
  copyAll(db);
  db.exec("DELETE FROM meta WHERE name = 'has_remains'");
}

/** Empties the log, which still holds what was deleted. */
function purge(): void {
  let isWhole = false;
  try {
    if (writer !== null) {
      writer.db.exec(`PRAGMA busy_timeout = ${PURGE_TIMEOUT_MS}`);
      overwriteEarlier(writer.db);
      isWhole = emptyLog(writer.db);
    }
  } catch (error) {
    failUnlessBusy(error);
  }
  reply({ type: "purged", isWhole });
}

function emptyLog(db: DatabaseSync): boolean {
  db.exec(`PRAGMA busy_timeout = ${PURGE_TIMEOUT_MS}`);
  const row = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  // Sets the timeout back as well.
  preallocateWal(db, setup.file, setup.busyTimeoutMs);
  return row?.["busy"] === 0;
}

/** Another process holds the database: nothing has begun, and it is tried again. */
function failUnlessBusy(error: unknown): void {
  if (failureOf(error).code !== "store.busy") fail(error);
  else writer?.db.exec(`PRAGMA busy_timeout = ${setup.busyTimeoutMs}`);
}

function fail(error: unknown): void {
  writer?.db.close();
  writer = null;
  reply({ type: "broken", failure: mediumFailureOf(error) });
}

function close(): void {
  let failure: Failure | null = null;
  try {
    // Every acknowledged commit is already durable in the WAL, so a failure here loses nothing.
    writer?.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    failure = failureOf(error);
  }
  writer?.db.close();
  reply({ type: "closed", failure });
  port.close();
}
