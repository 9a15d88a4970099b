/** Commits for several runs at once until it is killed, and prints each commit once it is acknowledged. */
import { randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { openSqliteStore } from "../../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { asRunId, asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { created, newBody, newRun, newSession, SampleJournal } from "../../runtime/store-samples.ts";

const ENTRIES = 3;

const [home = "", round = ""] = process.argv.slice(2);
const store = await openSqliteStore({ home, clock: systemClock, random: randomBytes });
await Promise.all(Array.from({ length: 8 }, (_, index) => work(`${round}_${index}`)));

async function work(name: string): Promise<never> {
  const runId = asRunId(`run_${name}`);
  const sessionId = asSessionId(`ses_${name}`);
  const journal = new SampleJournal(runId);
  await store.commit([newSession(sessionId), newRun(runId, sessionId, { key: name }), created(runId)], "barrier");
  for (let turn = 1; ; turn += 1) {
    const body = newBody(`${name} ${turn}`);
    await store.commit(
      [
        journal.append(ENTRIES),
        { type: "put-bodies", sessionId, bodies: [{ ...body, salt: salt(turn) }] },
        created(runId),
      ],
      turn % 3 === 0 ? "lazy" : "barrier",
    );
    // At once and whole: a pipe that node buffers would die with the process.
    writeSync(1, `${runId} ${turn * ENTRIES} ${body.ref}\n`);
  }
}

function salt(turn: number): string {
  return turn.toString(16).padStart(32, "0");
}
