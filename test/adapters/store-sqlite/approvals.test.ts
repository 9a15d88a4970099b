/** A decision counts only with its ledger entry: what SQL writes into the table allows nothing. */
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import type { SqliteStore } from "../../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import type { StoredApproval } from "../../../src/runtime/ports/store.ts";
import { verifies } from "../../requirements.ts";
import { expectRefused } from "../../runtime/store-contract/store-fixture.ts";
import { decides, newApproval, runOfItsOwn } from "../../runtime/store-samples.ts";
import { temporaryHome } from "./temporary-home.ts";

const temporary = temporaryHome();
afterEach(() => temporary.dispose());

let store: SqliteStore;
let approvals: readonly StoredApproval[];
beforeEach(async () => {
  const { runId, sessionId, writes } = runOfItsOwn();
  approvals = [newApproval(runId, sessionId), newApproval(runId, sessionId), newApproval(runId, sessionId)];
  const inserts = approvals.map((approval) => ({ type: "insert-approval", approval }) as const);
  store = await temporary.open();
  await store.commit([...writes, ...inserts], "barrier");
  await store.commit([decides(approvals[0] as StoredApproval, "allow")], "barrier");
  await store.commit([decides(approvals[1] as StoredApproval, "deny")], "barrier");
});

async function statesAfter(sql: string): Promise<readonly string[]> {
  const db = new DatabaseSync(databaseFile(temporary.home), { timeout: 1000 });
  db.exec(sql);
  db.close();
  return await Promise.all(approvals.map(async ({ id }) => (await store.findApproval(id))?.state ?? "none"));
}

const ALLOW_LINE = `(SELECT line FROM ledger WHERE line LIKE '%"decision":"allow"%')`;

verifies("X-12", "an untouched table says what was decided", async () => {
  expect(await statesAfter("SELECT 1")).toEqual(["allowed", "denied", "pending"]);
});

test.each([
  ["every row allowed", "UPDATE approvals SET state = 'allowed'", ["allowed", "forged", "forged"]],
  ["every row consumed", "UPDATE approvals SET state = 'consumed'", ["consumed", "forged", "forged"]],
  [
    "another question's permission",
    "UPDATE approvals SET state = 'allowed', ledger_seq = (SELECT min(ledger_seq) FROM approvals)",
    ["allowed", "forged", "forged"],
  ],
  ["another plan", "UPDATE approvals SET plan_hash = zeroblob(32)", ["forged", "forged", "pending"]],
  ["a decision taken back", "UPDATE approvals SET state = 'pending'", ["forged", "forged", "pending"]],
  ["the entry removed", `DELETE FROM ledger WHERE line = ${ALLOW_LINE}`, ["forged", "forged", "pending"]],
  [
    "the entry edited",
    `UPDATE ledger SET line = replace(line, '"decision":"deny"', '"decision":"allow"');
     UPDATE approvals SET state = 'allowed'`,
    ["allowed", "forged", "forged"],
  ],
])("%s", async (_, sql, states) => {
  expect(await statesAfter(sql)).toEqual(states);
});

verifies("X-12", "an entry with a hash of its own that stands in no chain counts for nothing", async () => {
  const [, denied] = approvals as [StoredApproval, StoredApproval];
  const line = JSON.parse(ledgerLine(denied) ?? "");
  const { hash: _, ...rest } = { ...line, data: { ...line.data, decision: "allow" } };
  const forged = JSON.stringify({ ...rest, hash: hashCanonical(rest) }).replaceAll("'", "''");
  const appended = JSON.stringify({ ...rest, hash: hashCanonical({ ...rest, seq: 3 }), seq: 3 }).replaceAll("'", "''");
  const put = `UPDATE ledger SET line = '${forged}' WHERE seq = ${line.seq};`;
  const add = `INSERT INTO ledger VALUES (${line.seq + 1}, '${appended}');`;
  expect((await statesAfter(`${add} UPDATE approvals SET state = 'allowed', ledger_seq = 3`))[1]).toBe("forged");
  expect((await statesAfter(`${put} UPDATE approvals SET ledger_seq = ${line.seq}`))[1]).toBe("forged");
});

test("what is forged is neither consumed, nor decided, nor listed as open", async () => {
  await statesAfter("UPDATE approvals SET state = 'allowed' WHERE state = 'pending'");
  const { id, planHash, expiresAtMs } = approvals[2] as StoredApproval;
  const consume = { type: "consume-approval", id, planHash, atMs: expiresAtMs - 1 } as const;
  await expectRefused(store.commit([consume], "barrier"), "store.conflict");
  await expectRefused(store.commit([decides(approvals[2] as StoredApproval, "allow")], "barrier"), "store.conflict");
  await statesAfter("UPDATE approvals SET state = 'pending'");
  expect((await store.pendingApprovals({ limit: 9, offset: 0 })).map((each) => each.id)).toEqual([id]);
});

function ledgerLine({ id }: StoredApproval): string | undefined {
  const db = new DatabaseSync(databaseFile(temporary.home), { readOnly: true });
  const row = db.prepare("SELECT line FROM ledger WHERE line ->> '$.data.approval_id' = ?").get(id);
  db.close();
  return row === undefined ? undefined : String(row["line"]);
}
