/** What a user interface reads of recorded runs: entries it checks itself, replay, and what another policy would say. */
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openContract } from "../../src/kernel/contract/open-contract.ts";
import { isBodyOf, refsOf } from "../../src/kernel/journal/body.ts";
import type { Entry } from "../../src/kernel/journal/entry.ts";
import { parseEntry } from "../../src/kernel/journal/journal-lines.ts";
import { verifyEntries } from "../../src/kernel/journal/verify-journal.ts";
import { digestOf, snapshotOfEntries } from "../../src/kernel/journal/views/run-snapshot.ts";
import { foldRun } from "../../src/kernel/machine/fold.ts";
import { snapshotOf } from "../../src/kernel/machine/snapshot.ts";
import { asBodyRef, asRunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { fromWire } from "../../src/kernel/vocabulary/wire-case.ts";
import { verifies } from "../requirements.ts";
import { openInterface } from "./interface-gateway.ts";

const WRITE = { tool: "fs.write_text", path: "a.txt", text: "one" };
const LIST = { tool: "fs.list_dir" };

/** As a page would: everything is computed from what was given. */
function check(runId: string, contract: unknown, documents: readonly unknown[]) {
  const opened = openContract(contract);
  if (!opened.ok) throw new Error(opened.problem);
  const entries: Entry[] = documents.map((each) => {
    const parsed = parseEntry(each as never);
    if (!parsed.ok) throw new Error(parsed.problem);
    return parsed.value;
  });
  const folded = foldRun(asRunId(runId), opened.contract, entries);
  return {
    verified: verifyEntries(entries, opened.contract),
    isFolded: folded.ok,
    folded: digestOf(snapshotOf(folded.state)),
    /** Of entries up to anywhere: a step may have several, and is folded whole. */
    viewed: digestOf(snapshotOfEntries(asRunId(runId), opened.contract.contractHash, entries)),
  };
}

const refsNamedBy = (documents: readonly unknown[]): readonly string[] =>
  [...new Set(documents.flatMap((each) => refsOf(fromWire(each) as Entry)))].sort();

verifies(
  "M-D",
  "a browser can verify and fold what it is given, page by page, of a run that waits and of an ended one",
  async () => {
    const { ask, get, submit, cardOf, ended } = await openInterface();
    const id = await submit([LIST, WRITE]);
    const card = await cardOf(id);
    const waiting = await get(`/v1/runs/${id}/entries`);
    expect(waiting).toMatchObject({ run_id: id, is_ended: false, erased: [], damage: null });
    expect([waiting.entries.length, waiting.seq]).toEqual([waiting.total, waiting.total]);
    const half = check(id, waiting.contract, waiting.entries);
    expect(half).toMatchObject({
      verified: { ok: true },
      isFolded: true,
      folded: waiting.digest,
      viewed: waiting.digest,
    });

    await ask("POST", `/api/approvals/${card.id}`, { decision: "allow", plan_hash: card.plan_hash });
    const record = await ended(id);
    const entries: unknown[] = [];
    const bodies: Record<string, { salt: string; text: string }> = {};
    let contract: unknown = null;
    for (let after = 0, total = 1; after < total; ) {
      const page = await get(`/v1/runs/${id}/entries?after=${after}&limit=3`);
      expect(page.contract === null).toBe(after > 0);
      expect(Object.keys(page.bodies).sort()).toEqual(refsNamedBy(page.entries));
      contract ??= page.contract;
      entries.push(...page.entries);
      Object.assign(bodies, page.bodies);
      expect(check(id, contract, entries).viewed).toBe(page.digest);
      ({ seq: after, total } = page);
    }
    const whole = check(id, contract, entries);
    expect(whole).toMatchObject({ verified: { ok: true }, isFolded: true, folded: record.state_digest });
    for (const [ref, body] of Object.entries(bodies)) expect(isBodyOf(asBodyRef(ref), body)).toBe(true);
    expect(Object.values(bodies).map(({ text }) => text)).toContain("That was it.");
    expect(await get(`/v1/runs/${id}/entries?after=99`)).toMatchObject({
      entries: [],
      bodies: {},
      seq: entries.length,
    });
    expect((await ask("GET", "/v1/runs/run_nowhere/entries")).status).toBe(404);
  },
);

test("an entry that cannot be read and bodies that are gone are named", async () => {
  const { home, get, submit, ended } = await openInterface();
  const id = await submit([LIST]);
  await ended(id);
  const { entries, total } = await get(`/v1/runs/${id}/entries`);
  const database = new DatabaseSync(home.database);
  database.exec("DELETE FROM bodies; UPDATE appends SET bodies = NULL");
  const erased = await get(`/v1/runs/${id}/entries`);
  expect([erased.bodies, erased.entries, erased.damage]).toEqual([{}, entries, null]);
  expect(erased.erased.length).toBeGreaterThan(2);
  database.exec("UPDATE appends SET lines = 'damaged' WHERE position = (SELECT max(position) FROM appends)");
  database.close();
  const damaged = await get(`/v1/runs/${id}/entries`);
  expect(damaged.damage).toEqual({ entry: damaged.seq + 1, problem: expect.any(String) });
  expect([damaged.entries.length, damaged.seq < total]).toEqual([damaged.seq, true]);
  // A page before the damage can be read; one after it says where the journal broke.
  expect((await get(`/v1/runs/${id}/entries?limit=2`)).damage).toBeNull();
  expect(await get(`/v1/runs/${id}/entries?after=${total}`)).toMatchObject({ entries: [], damage: damaged.damage });
});

verifies("X-4/replay", "POST /v1/runs/{id}/replay reaches the same outcome and head", async () => {
  const { ask, submit, ended } = await openInterface();
  const id = await submit([LIST]);
  const record = await ended(id);
  const { status, json } = await ask("POST", `/v1/runs/${id}/replay`);
  expect([status, json]).toEqual([
    200,
    {
      ...{ run_id: id, reproduced: true, outcome: record.outcome, head_hash: record.head_hash },
      ...{ recorded_head_hash: record.head_hash, diverged_at: null },
    },
  ]);
});

verifies(
  ["X-4/policy", "X-4/policy-test"],
  "another policy is put to the recorded calls of one run, and of all",
  async () => {
    const { ask, submit, cardOf, ended } = await openInterface();
    const listed = await submit([LIST]);
    await ended(listed);
    const written = await submit([WRITE]);
    const card = await cardOf(written);
    await ask("POST", `/api/approvals/${card.id}`, { decision: "allow", plan_hash: card.plan_hash });
    await ended(written);

    const policy = { risk: { read_only: "deny", side_effect: "allow" } };
    const { json: one } = await ask("POST", `/v1/runs/${listed}/what-if`, { policy });
    expect(one).toEqual({
      run_id: listed,
      calls: [
        {
          ...{ entry: 3, call_id: expect.any(String), tool: "fs.list_dir", recorded: "allow", policy_then: "allow" },
          ...{ now: "deny", rule: "policy.risk.read_only", changed: true },
        },
      ],
      changed: 1,
    });
    const { json: all } = await ask("POST", "/api/policy/test", { policy });
    expect(all).toMatchObject({
      runs: 2,
      total: 2,
      changed: 1,
      stops_asking: 1,
      starts_asking: 0,
      unreadable: [],
      complete: true,
    });
    expect(all.calls).toMatchObject([
      { run_id: written, recorded: "allow", policy_then: "approve", now: "allow", changed: false },
      { run_id: listed, recorded: "allow", now: "deny", changed: true },
    ]);
    expect((await ask("POST", "/api/policy/test", { policy, limit: 1 })).json).toMatchObject({
      runs: 1,
      complete: false,
    });
    const wrong = await ask("POST", `/v1/runs/${listed}/what-if`, { policy: { risk: { read_only: "maybe" } } });
    expect([wrong.status, wrong.json.error.code]).toEqual([400, "invalid.request"]);
    expect(wrong.json.error.message).toContain("risk.read_only");
    // Nothing was changed by asking.
    expect((await ask("POST", `/v1/runs/${listed}/replay`)).json.reproduced).toBe(true);
  },
);

test("an unchanged record is a 304 without a body; a changed one is given with its new ETag", async () => {
  const { ask, submit, ended } = await openInterface();
  const id = await submit([LIST]);
  await ended(id);
  const first = await ask("GET", `/v1/runs/${id}`);
  const etag = first.headers.get("etag") ?? "";
  expect(etag).toMatch(/^"[\w-]{22}"$/);
  for (const known of [etag, `"other", W/${etag}`, "*"]) {
    const again = await ask("GET", `/v1/runs/${id}`, undefined, { "if-none-match": known });
    expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
  }
  const other = await ask("GET", `/v1/runs/${id}`, undefined, { "if-none-match": '"other"' });
  expect([other.status, other.text]).toEqual([200, first.text]);

  const list = (await ask("GET", "/v1/runs")).headers.get("etag") ?? "";
  await ended(await submit([LIST]));
  const changed = await ask("GET", "/v1/runs", undefined, { "if-none-match": list });
  expect([changed.status, changed.headers.get("etag") === list]).toEqual([200, false]);
  const unasked = await ask("GET", "/api/tools");
  expect(unasked.headers.get("etag")).toBeNull();
  const asked = await ask("GET", "/api/tools", undefined, { "if-none-match": '""' });
  expect([asked.status, asked.headers.get("etag")]).toEqual([200, expect.any(String)]);
});
