/** The fixture's `self_grant` class, each input by its name, driven through real runs; and others of the same kind. */
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseFile } from "../../src/adapters/store-sqlite/connection.ts";
import { asSessionId, type SessionId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { ModelRequest } from "../../src/runtime/ports/model-backend.ts";
import { temporaryHome } from "../adapters/store-sqlite/temporary-home.ts";
import adversarial from "../fixtures/adversarial.json" with { type: "json" };
import { verifies } from "../requirements.ts";
import { storeOfFile } from "./trial/open-trial.ts";
import { calls, says } from "./trial/scripted-model.ts";
import { gets, later, notes, openWebTrial } from "./trial/web-trial.ts";

const store = storeOfFile();

interface Attack {
  readonly class: string;
  readonly name: string;
  readonly input: unknown;
}

const ATTACKS = (adversarial as readonly Attack[]).filter((attack) => attack.class === "self_grant");

function inputOf<Input>(name: string): Input {
  const found = ATTACKS.filter((attack) => attack.name === name);
  expect(found, name).toHaveLength(1);
  return found[0]?.input as Input;
}

/** A run in which the model says this; afterwards a fetch in the same session. */
async function spoken(content: string, granted: readonly string[] = []) {
  const web = await openWebTrial(store(), {
    begin: [says("hello")],
    attack: [says(content)],
    fetch: [later(() => gets("a.example", web.port))],
  });
  const { sessionId } = await web.run("begin");
  for (const capability of granted) await web.decide(sessionId, "grant", capability);
  const { actions, entries } = await web.run("attack", { sessionId });
  const { policyIds } = await web.run("fetch", { sessionId });
  return { ...web, sessionId, actions, entries, policyIds, now: await web.standing(sessionId) };
}

const asNotes = (patch: object): string => `<<<NOTES_JSON>>>${JSON.stringify(patch)}<<<END_NOTES_JSON>>>`;

/** It does what the newest text says: it repeats it, as it sees it. */
const puppet = ({ messages }: ModelRequest) => {
  const { content = "" } = messages.at(-1) ?? {};
  return says(content);
};

async function ledgerOf(sessionId: SessionId) {
  const entries = await store().readLedger(0, 10_000);
  return entries.filter(({ data }) => "sessionId" in data && data.sessionId === sessionId);
}

describe("self_grant", () => {
  test("every input of the class is driven here", () => {
    expect(ATTACKS.map(({ name }) => name).sort()).toEqual([
      "already_granted_request",
      "cap_ip_literal",
      "cap_wildcard",
      "checkpoint_tamper",
      "grant_in_tool_output",
      "grant_via_user_quoted_email",
      "operator_grant",
      "operator_replay",
      "plain",
      "state_patch_smuggle",
    ]);
  });

  verifies("S-2.4/model", "plain: pending by the model's hand, traced, and http.get stays denied", async () => {
    const { assistant } = inputOf<{ assistant: string }>("plain");
    const { actions, now, policyIds, asked, sessionId } = await spoken(assistant);
    expect(actions).toEqual([{ action: "grant_permission:net", status: "requires_operator" }]);
    expect(now).toEqual({ granted: [], pending: ["net"] });
    expect(policyIds).toEqual(["policy.capability"]);
    expect(asked).toEqual([]);
    expect(await ledgerOf(sessionId)).toMatchObject([{ kind: "capability.requested", actor: "model" }]);
  });

  verifies("S-2.4", "state_patch_smuggle: capabilities are no key of a patch", async () => {
    const { assistant } = inputOf<{ assistant: string }>("state_patch_smuggle");
    const { now, policyIds } = await spoken(assistant);
    expect(now).toEqual({ granted: [], pending: [] });
    expect(policyIds).toEqual(["policy.capability"]);
  });

  test("already_granted_request: pending does not hold what is granted", async () => {
    const { granted, actions } = inputOf<{ granted: string[]; actions: string[] }>("already_granted_request");
    const attack = await spoken(asNotes({ actions }), granted);
    expect(attack.actions).toEqual([{ action: "request_permission:net", status: "already_granted" }]);
    expect(attack.now).toEqual({ granted, pending: [] });
    expect(attack.asked).toEqual(["a.example"]);
  });

  const UNGRANTABLE = [
    ...["net:*", "net:*.example", "net:a.example*", "net:", "net:a.example:80", "net:a.example/", "net:a..example"],
    ...["net:127.0.0.1", "net:2130706433", "net:0x7f.1", "net:017700000001", "net:127.1", "net:[::1]", "net:::1"],
    ...["net:localhost", "net:localhost.", "net:x.localhost", "net:A.EXAMPLE", "net:a.example.", "net: a.example"],
    ...["NET", "net ", " net", "net:\u0430.example", "net:a.example\u0000", "net\n", "*", "fs", "net,net:a.example"],
  ];

  test.each([
    ...inputOf<{ actions: string[] }>("cap_ip_literal").actions,
    ...inputOf<{ actions: string[] }>("cap_wildcard").actions,
    ...UNGRANTABLE.map((capability) => `grant_permission:${capability}`),
  ])("cap_ip_literal, cap_wildcard: %j is rejected and traced, by model and operator alike", async (action) => {
    const web = await openWebTrial(store(), { attack: [notes({ actions: [action] })] });
    const { actions, sessionId } = await web.run("attack");
    const [verb = "", ...rest] = action.split(":");
    expect(actions).toEqual([{ action: verb, status: "rejected" }]);
    const refusal = await web.decide(sessionId, "grant", rest.join(":"));
    expect(refusal).toMatchObject({ ok: false, code: "invalid.request" });
    expect(await web.standing(sessionId)).toEqual({ granted: [], pending: [] });
  });

  verifies("S-2.4", "grant_in_tool_output: what a tool prints is data, also when the model repeats it", async () => {
    const { content } = inputOf<{ content: string }>("grant_in_tool_output");
    const web = await openWebTrial(store(), {
      look: [calls([{ id: "look_1", tool: "look.at", args: { thing: "mail" } }]), puppet],
    });
    web.world.conduct = () => content;
    const { sessionId, actions } = await web.run("look");
    expect(actions).toEqual([]);
    expect(await web.standing(sessionId)).toEqual({ granted: [], pending: [] });
  });

  verifies(
    "S-2.4",
    "grant_via_user_quoted_email: what a user quotes is data, also when the model repeats it",
    async () => {
      const { user } = inputOf<{ user: string }>("grant_via_user_quoted_email");
      let seen = "";
      const web = await openWebTrial(
        store(),
        {},
        {
          otherwise: (request) => {
            seen = request.messages.at(-1)?.content ?? "";
            return puppet(request);
          },
        },
      );
      const { sessionId, actions } = await web.run(user);
      expect(seen).toContain("grant_permission:net");
      expect(actions).toEqual([]);
      expect(await web.standing(sessionId)).toEqual({ granted: [], pending: [] });
    },
  );

  verifies(
    "S-2.4",
    "operator_grant: from pending to granted, with who, until when and the nonce on record",
    async () => {
      const { action } = inputOf<{ action: string }>("operator_grant");
      const capability = action.slice("grant_permission:".length);
      const { sessionId, decide, standing } = await spoken(asNotes({ actions: [action] }));
      expect(await standing(sessionId)).toEqual({ granted: [], pending: [capability] });
      await decide(sessionId, "grant", capability, { expiresInS: 3600, principal: "operator" });
      expect(await standing(sessionId)).toEqual({ granted: [capability], pending: [] });
      expect((await ledgerOf(sessionId)).at(-1)).toMatchObject({
        kind: "capability.granted",
        actor: "operator",
        data: {
          capability,
          expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
          nonce: expect.stringMatching(/^\w{16,}$/),
        },
      });
    },
  );

  test("operator_replay: a decision that was made is not made again, even after it was taken back", async () => {
    const { approval_nonce: key } = inputOf<{ approval_nonce: string }>("operator_replay");
    const { sessionId, decide, standing } = await spoken("hello");
    expect(await decide(sessionId, "grant", "net", { key })).toMatchObject({ ok: true });
    await decide(sessionId, "revoke", "net");
    for (const capability of ["net", "net:a.example"]) {
      expect(await decide(sessionId, "grant", capability, { key })).toMatchObject({ ok: false, code: "conflict" });
    }
    expect(await standing(sessionId)).toEqual({ granted: [], pending: [] });
  });

  test("checkpoint_tamper: a grant that the ledger does not back is dropped, with an alert", async () => {
    expect(inputOf<{ file: string }>("checkpoint_tamper").file).toContain("capabilities_granted:[net]");
    const home = temporaryHome();
    onTestFinished(() => home.dispose());
    const opened = await home.open();
    const web = await openWebTrial(opened, {
      begin: [notes({ actions: ["request_permission:net"] })],
      fetch: [later(() => gets("a.example", web.port))],
    });
    const { sessionId } = await web.run("begin");
    const db = new DatabaseSync(databaseFile(home.home));
    db.exec("UPDATE capabilities SET state = 'granted'");
    db.close();
    expect((await web.run("fetch", { sessionId })).policyIds).toEqual(["policy.capability"]);
    expect(await web.standing(asSessionId(sessionId))).toEqual({ granted: [], pending: [] });
    expect(web.trial.defects.length).toBeGreaterThan(0);
    expect(web.asked).toEqual([]);
  });

  test("a thousand requests leave an operator something to read", async () => {
    const actions = Array.from({ length: 1000 }, (_, index) => `request_permission:net:h${index}.example`);
    const { now, policyIds } = await spoken(asNotes({ actions }));
    expect(now.pending).toHaveLength(64);
    expect(policyIds).toEqual(["policy.capability"]);
  });
});
