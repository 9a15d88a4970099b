/** Capabilities through real runs: asked for by a model, decided by an operator, sealed, narrowed, taken back. */
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { DEFAULT_POLICY } from "../../../src/kernel/contract/default-terms.ts";
import { asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Store, Write } from "../../../src/runtime/ports/store.ts";
import { temporaryHome } from "../../adapters/store-sqlite/temporary-home.ts";
import { verifies } from "../../requirements.ts";
import { storeOfFile } from "../trial/open-trial.ts";
import { calls, says } from "../trial/scripted-model.ts";
import { fetching, gets, later, notes, openWebTrial } from "../trial/web-trial.ts";

const store = storeOfFile();
const LOOK = calls([{ id: "look_1", tool: "look.at", args: { thing: "sky" } }]);

describe("from asking to reaching", () => {
  verifies(
    ["S-2.4/model", "S-4.4/denied"],
    "a model's grant is a request; http.get stays denied until an operator grants, and is denied again once revoked",
    async () => {
      const web = await openWebTrial(store(), {
        take: [notes({ actions: ["grant_permission:net"] })],
        fetch: [later(() => gets("a.example", web.port))],
      });
      const { run, decide, standing, asked } = web;
      const first = await run("take");
      const { sessionId } = first;
      expect(first.actions).toEqual([{ action: "grant_permission:net", status: "requires_operator" }]);
      expect(await standing(sessionId)).toEqual({ granted: [], pending: ["net"] });
      expect((await run("fetch", { sessionId })).policyIds).toEqual(["policy.capability"]);
      expect(asked).toEqual([]);

      await decide(sessionId, "grant", "net");
      expect(await standing(sessionId)).toEqual({ granted: ["net"], pending: [] });
      expect((await run("fetch", { sessionId })).policyIds).toEqual(["policy.risk.read_only"]);
      expect(asked).toEqual(["a.example"]);
      // Another session has nothing of it.
      expect((await run("fetch")).policyIds).toEqual(["policy.capability"]);

      await decide(sessionId, "revoke", "net");
      expect((await run("fetch", { sessionId })).policyIds).toEqual(["policy.capability"]);
      expect(asked).toEqual(["a.example"]);
      const said = (await web.trial.store.readLedger(0, 100)).filter(
        ({ data }) => "sessionId" in data && data.sessionId === sessionId,
      );
      expect(said.map(({ kind, actor }) => [kind, actor])).toEqual([
        ["capability.requested", "model"],
        ["capability.granted", "operator"],
        ["capability.revoked", "operator"],
      ]);
    },
  );

  test.each([
    { granted: ["net:a.example"], allowDomains: undefined, reached: ["a.example"] },
    { granted: ["net"], allowDomains: undefined, reached: ["a.example", "b.example", "127.0.0.1"] },
    { granted: ["net"], allowDomains: ["b.example"], reached: ["b.example"] },
    { granted: ["net"], allowDomains: [], reached: [] },
    { granted: ["net:a.example"], allowDomains: ["b.example"], reached: ["a.example"] },
    { granted: ["net", "net:a.example"], allowDomains: ["b.example"], reached: ["a.example", "b.example"] },
  ])("[S-4.4] $granted with the allowlist $allowDomains reaches $reached", async (given) => {
    const hosts = ["a.example", "b.example", "127.0.0.1"];
    const fetches = Object.fromEntries(hosts.map((host) => [host, [later(() => gets(host, web.port))]]));
    const web = await openWebTrial(
      store(),
      { begin: [says("hello")], ...fetches },
      given.allowDomains === undefined ? {} : { allowDomains: given.allowDomains },
    );
    // Each in a session of its own: after the first page a session holds untrusted text, and the latch asks.
    for (const host of hosts) {
      const { sessionId } = await web.run("begin");
      for (const capability of given.granted) await web.decide(sessionId, "grant", capability);
      await web.run(host, { sessionId });
    }
    expect(web.asked).toEqual(given.reached);
  });

  test("a request is written in the transaction of the answer that makes it", async () => {
    const commits: (readonly Write[])[] = [];
    const web = await openWebTrial(
      watching(store(), (writes) => commits.push(writes)),
      { ask: [notes({ actions: ["request_permission:net:a.example"] })] },
    );
    await web.run("ask");
    const [commit = []] = commits.filter((writes) => writes.some(({ type }) => type === "request-capability"));
    const lines = commit.flatMap((write) => (write.type === "append-entries" ? write.lines : []));
    expect(lines.map((line) => JSON.parse(line).kind)).toContain("INFER");
  });

  test("what is asked for again, or granted, is not asked for once more", async () => {
    const actions = ["request_permission:net:a.example", "grant_permission:net", "request_permission:net"];
    const web = await openWebTrial(store(), { ask: [notes({ actions })] });
    const { sessionId, actions: first } = await web.run("ask");
    expect(first.map(({ status }) => status)).toEqual(["applied", "requires_operator", "already_pending"]);
    await web.decide(sessionId, "grant", "net:a.example");
    const { actions: second } = await web.run("ask", { sessionId });
    expect(second.map(({ status }) => status)).toEqual(["already_granted", "requires_operator", "already_pending"]);
    expect(await web.standing(sessionId)).toEqual({ granted: ["net:a.example"], pending: ["net"] });
    await web.decide(sessionId, "deny", "net");
    expect(await web.standing(sessionId)).toEqual({ granted: ["net:a.example"], pending: [] });
    await web.run("ask", { sessionId });
    expect(await web.standing(sessionId)).toEqual({ granted: ["net:a.example"], pending: ["net"] });
  });
});

describe("a run under way", () => {
  /** A session with `net:a.example`, and a run that looks, then fetches; `between` happens while the model thinks. */
  async function fetchingAfter(between: (web: Web, sessionId: ReturnType<typeof asSessionId>) => Promise<unknown>) {
    let sessionId = asSessionId("");
    const web: Web = await openWebTrial(store(), {
      begin: [says("hello")],
      work: [
        LOOK,
        later(async () => {
          await between(web, sessionId);
          return gets("a.example", web.port);
        }),
      ],
    });
    ({ sessionId } = await web.run("begin"));
    await web.decide(sessionId, "grant", "net:a.example");
    return { web, sessionId, worked: await web.run("work", { sessionId }) };
  }
  type Web = Awaited<ReturnType<typeof openWebTrial>>;

  test("goes on with what it was sealed with while nothing changes", async () => {
    const { web, worked } = await fetchingAfter(() => Promise.resolve());
    expect(worked.policyIds).toEqual(["policy.risk.read_only", "policy.risk.read_only"]);
    expect(web.asked).toEqual(["a.example"]);
  });

  verifies("S-2.4", "a revocation acts before its next call", async () => {
    const { web, worked } = await fetchingAfter((it, sessionId) => it.decide(sessionId, "revoke", "net:a.example"));
    expect(worked.policyIds).toEqual(["policy.risk.read_only", "policy.capability"]);
    expect(web.asked).toEqual([]);
  });

  test("a grant gives it nothing; the next run of the session has it", async () => {
    let sessionId = asSessionId("");
    const web = await openWebTrial(store(), {
      begin: [says("hello")],
      work: [
        later(async () => {
          await web.decide(sessionId, "grant", "net");
          return gets("a.example", web.port);
        }),
      ],
    });
    ({ sessionId } = await web.run("begin"));
    expect((await web.run("work", { sessionId })).policyIds).toEqual(["policy.capability"]);
    expect((await web.run("work", { sessionId })).policyIds).toEqual(["policy.risk.read_only"]);
  });

  test("an expiry acts before its next call, and a grant that has expired is not sealed", async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs };
    let sessionId = asSessionId("");
    const web = await openWebTrial(
      store(),
      {
        begin: [says("hello")],
        wait: [
          later(() => {
            aheadMs = 61_000;
            return gets("a.example", web.port);
          }),
        ],
        fetch: [later(() => gets("a.example", web.port))],
      },
      { clock },
    );
    ({ sessionId } = await web.run("begin"));
    await web.decide(sessionId, "grant", "net:a.example", { expiresInS: 60 });
    expect((await web.run("fetch", { sessionId })).policyIds).toEqual(["policy.risk.read_only"]);
    expect((await web.run("wait", { sessionId })).policyIds).toEqual(["policy.capability"]);
    expect(await web.standing(sessionId)).toEqual({ granted: [], pending: [] });
    expect((await web.run("fetch", { sessionId })).policyIds).toEqual(["policy.capability"]);
    expect(web.asked).toEqual(["a.example"]);
  });

  test("of one batch, the calls after a revocation are not made", async () => {
    const web = await openWebTrial(store(), {
      begin: [says("hello")],
      both: [
        later(() => {
          const opening = { id: "door_1", tool: "door.open", args: { thing: "d" } };
          return calls([opening, fetching("a.example", web.port, "fetch_1")]);
        }),
      ],
    });
    const { sessionId } = await web.run("begin");
    await web.decide(sessionId, "grant", "net:a.example");
    const wanted = { sessionId, approvedTools: ["door.open"] };
    web.world.conduct = () => web.decide(sessionId, "revoke", "net:a.example").then(() => "open");
    const { policyIds } = await web.run("both", wanted);
    expect(policyIds).toEqual(["policy.approved-tool", "policy.risk.read_only", "policy.capability"]);
    expect(web.asked).toEqual([]);
  });

  test("a call whose intent was becoming durable when it was forbidden is not begun", async () => {
    let revoke = (): Promise<unknown> => Promise.resolve();
    const slow: Store = {
      ...store(),
      commit: async (writes, urgency) => {
        const result = await store().commit(writes, urgency);
        if (writes.some((write) => write.type === "append-entries" && isIntent(write.lines))) await revoke();
        return result;
      },
    };
    const web = await openWebTrial(slow, {
      begin: [says("hello")],
      fetch: [later(() => gets("a.example", web.port))],
    });
    const { sessionId } = await web.run("begin");
    await web.decide(sessionId, "grant", "net:a.example");
    revoke = () => web.decide(sessionId, "revoke", "net:a.example");
    const { policyIds, entries } = await web.run("fetch", { sessionId });
    expect(policyIds).toEqual(["policy.risk.read_only"]);
    const [observed] = entries.flatMap((entry) => (entry.kind === "OBSERVE" ? [entry.result] : []));
    expect(observed).toMatchObject({
      type: "tool.finished",
      response: { ok: false, error: { code: "policy.denied" } },
    });
    expect(web.asked).toEqual([]);
  });

  test("one that waits for a person is decided about anew when it goes on", async () => {
    const policy = { ...DEFAULT_POLICY, exceptions: [{ tool: "http.get", decision: "approve" as const }] };
    const web = await openWebTrial(
      store(),
      { begin: [says("hello")], fetch: [later(() => gets("a.example", web.port))] },
      { policy },
    );
    const { sessionId } = await web.run("begin");
    await web.decide(sessionId, "grant", "net:a.example");
    const runId = await web.trial.submit("fetch", { sessionId });
    const { id, planHash } = await web.trial.nextCard();
    await web.decide(sessionId, "revoke", "net:a.example");
    await web.trial.runtime.approvals.decide({ id, planHash, decision: "allow", principal: "operator" });
    expect((await web.cameTo(runId)).policyIds).toEqual(["policy.capability"]);
    expect(web.asked).toEqual([]);
  });

  test("live policy narrows it too, without a restart", async () => {
    let live = DEFAULT_POLICY;
    const web = await openWebTrial(
      store(),
      {
        work: [
          LOOK,
          later(() => {
            live = { ...live, allow: ["http.get"] };
            return LOOK;
          }),
        ],
      },
      { livePolicy: () => live },
    );
    expect((await web.run("work")).policyIds).toEqual(["policy.risk.read_only", "policy.not-allowlisted"]);
  });
});

describe("delegated runs", () => {
  const delegate = calls([{ id: "child_1", tool: "agent.delegate", args: { thing: "fetch" } }]);

  test("have what the session has that it all began in, for as long as it has it", async () => {
    const web = await openWebTrial(store(), {
      begin: [says("hello")],
      parent: [delegate],
      fetch: [later(() => gets("a.example", web.port))],
    });
    const { sessionId } = await web.run("begin");
    await web.run("parent", { sessionId });
    expect(web.asked).toEqual([]);
    await web.decide(sessionId, "grant", "net:a.example");
    await web.decide(sessionId, "revoke", "net:a.example");
    await web.run("parent", { sessionId });
    expect(web.asked).toEqual([]);
    await web.decide(sessionId, "grant", "net:a.example");
    await web.run("parent", { sessionId });
    expect(web.asked).toEqual(["a.example"]);
  });

  test("lose what is taken back while they work", async () => {
    let sessionId = asSessionId("");
    const web = await openWebTrial(store(), {
      begin: [says("hello")],
      parent: [delegate],
      fetch: [
        later(async () => {
          await web.decide(sessionId, "revoke", "net:a.example");
          return gets("a.example", web.port);
        }),
      ],
    });
    ({ sessionId } = await web.run("begin"));
    await web.decide(sessionId, "grant", "net:a.example");
    await web.run("parent", { sessionId });
    expect(web.asked).toEqual([]);
  });

  test("ask in that session's name", async () => {
    const web = await openWebTrial(store(), {
      parent: [delegate],
      fetch: [notes({ actions: ["request_permission:net:a.example"] })],
    });
    const { sessionId } = await web.run("parent");
    expect(await web.standing(sessionId)).toEqual({ granted: [], pending: ["net:a.example"] });
  });
});

describe("decisions", () => {
  test("only what is a capability can be decided about, for a session that is there, for a time that makes sense", async () => {
    const web = await openWebTrial(store(), { begin: [says("hello")] });
    const { sessionId } = await web.run("begin");
    for (const capability of ["", "NET", "net:", "net:*", "net:A.example", "net:127.0.0.1", "net:localhost", "fs"]) {
      const refusal = await web.decide(sessionId, "grant", capability);
      expect(refusal).toMatchObject({
        ok: false,
        code: "invalid.request",
        message: expect.stringMatching(/net:<domain>/),
      });
    }
    for (const expiresInS of [0, -1, 1.5, Number.NaN, 1e12]) {
      expect(await web.decide(sessionId, "grant", "net", { expiresInS })).toMatchObject({ code: "invalid.request" });
    }
    expect(await web.decide(asSessionId("session_x"), "grant", "net")).toMatchObject({ ok: false, code: "not_found" });
    expect(await web.trial.runtime.capabilities.of(asSessionId("session_x"))).toMatchObject({ code: "not_found" });
    expect(await web.standing(sessionId)).toEqual({ granted: [], pending: [] });
  });

  test("revoking also turns down what is pending, denying takes nothing back, and both may come too late", async () => {
    const web = await openWebTrial(store(), { ask: [notes({ actions: ["request_permission:net"] })] });
    const { sessionId } = await web.run("ask");
    await web.decide(sessionId, "grant", "net:a.example");
    await web.decide(sessionId, "revoke", "net");
    await web.decide(sessionId, "deny", "net:a.example");
    await web.decide(sessionId, "revoke", "net:b.example");
    expect(await web.standing(sessionId)).toEqual({ granted: ["net:a.example"], pending: [] });
  });

  test("of many at once the last one counts", async () => {
    const web = await openWebTrial(store(), { begin: [says("hello")] });
    const { sessionId } = await web.run("begin");
    const acts = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? "grant" : "revoke"));
    await Promise.all(acts.map((act) => web.decide(sessionId, act as "grant", "net")));
    expect(await web.standing(sessionId)).toEqual({ granted: [], pending: [] });
  });

  test("what somebody wrote into the database grants nothing, and is reported", async () => {
    const home = temporaryHome();
    onTestFinished(() => home.dispose());
    const web = await openWebTrial(await home.open(), {
      begin: [says("hello")],
      fetch: [later(() => gets("a.example", web.port))],
    });
    const { sessionId } = await web.run("begin");
    const db = new DatabaseSync(databaseFile(home.home));
    db.exec("INSERT INTO capabilities VALUES (1, 'net', 'granted', 1)");
    db.close();
    expect((await web.run("fetch", { sessionId })).policyIds).toEqual(["policy.capability"]);
    expect(web.trial.defects.map(String)).toEqual([expect.stringMatching(/not in the ledger, so they grant nothing/)]);
    expect(web.asked).toEqual([]);
  });
});

function isIntent(lines: readonly string[]): boolean {
  return lines.some((line) => line.includes('"kind":"EXECUTE"'));
}

function watching(whole: Store, see: (writes: readonly Write[]) => void): Store {
  return {
    ...whole,
    commit: (writes, urgency) => {
      see(writes);
      return whole.commit(writes, urgency);
    },
  };
}
