/** Editing the database from outside grants nothing (C1 of capability-rules.ts). */
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CAPABILITY_QUERIES } from "../../../src/adapters/store-sqlite/capabilities.ts";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { grants, runOfItsOwn, takes } from "../../runtime/store-samples.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";

let temporary: TemporaryHome;
beforeEach(() => {
  temporary = temporaryHome();
});
afterEach(() => temporary.dispose());

/** The session's capabilities after `tamper` ran on a database where net:a was granted, and net granted and revoked. */
async function statesAfter(tamper: string) {
  const { sessionId, writes } = runOfItsOwn();
  const other = runOfItsOwn();
  const store = await temporary.open();
  await store.commit([...writes, ...other.writes], "barrier");
  await store.commit([grants(sessionId, "net:a.example"), grants(sessionId, "net")], "barrier");
  await store.commit([takes("capability.revoked", sessionId, "net"), grants(other.sessionId, "net")], "barrier");
  await store.close();
  const db = new DatabaseSync(databaseFile(temporary.home));
  expect(db.prepare("SELECT count(*) AS entries FROM ledger").get()).toEqual({ entries: 4 });
  db.exec(tamper);
  db.close();
  const reopened = await temporary.open();
  const known = await reopened.capabilitiesOf(sessionId);
  await reopened.close();
  return Object.fromEntries(known.map(({ capability, state }) => [capability, state]));
}

describe("a grant that the ledger does not know is forged", () => {
  test("untouched, everything is as it was decided", async () => {
    expect(await statesAfter("")).toEqual({ net: "revoked", "net:a.example": "granted" });
  });

  test.each([
    ["a row made up", "INSERT INTO capabilities VALUES (1, 'net:b.example', 'granted', 99)", "net:b.example"],
    ["a state edited", "UPDATE capabilities SET state = 'granted' WHERE capability = 'net' AND session = 1", "net"],
    [
      "its own grant, from before it was revoked",
      "UPDATE capabilities SET state = 'granted', ledger_seq = 2 WHERE capability = 'net' AND session = 1",
      "net",
    ],
    [
      "another session's grant",
      "UPDATE capabilities SET state = 'granted', ledger_seq = 4 WHERE capability = 'net' AND session = 1",
      "net",
    ],
    [
      "another capability's grant",
      "UPDATE capabilities SET state = 'granted', ledger_seq = 1 WHERE capability = 'net' AND session = 1",
      "net",
    ],
    [
      "an entry edited",
      `UPDATE ledger SET line = replace(line, '"expires_at":null', '"expires_at":"2099-01-01T00:00:00.000Z"') WHERE seq = 1`,
      "net:a.example",
    ],
    ["an entry that is none any more", "UPDATE ledger SET line = '{' WHERE seq = 1", "net:a.example"],
    ["an entry gone", "DELETE FROM ledger WHERE seq = 1", "net:a.example"],
  ])("%s", async (_, tamper, capability) => {
    expect(await statesAfter(tamper)).toMatchObject({ [capability]: "forged" });
  });
});

test("the last entry about a capability is found by an index, however long the ledger is", async () => {
  const store = await temporary.open();
  await store.close();
  const db = new DatabaseSync(databaseFile(temporary.home), { readOnly: true });
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${CAPABILITY_QUERIES.ofSession}`).all("a session");
  db.close();
  const steps = plan.map(({ detail }) => String(detail)).filter((detail) => detail.includes("ledger"));
  expect(steps).toContainEqual(expect.stringMatching(/^SEARCH ledger USING (COVERING )?INDEX capability_ledger/));
  expect(steps.filter((step) => step.startsWith("SCAN"))).toEqual([]);
});
