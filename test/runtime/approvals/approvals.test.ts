/** Approvals: durable, bound to a plan, decided once, denied at their deadline. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../../../src/kernel/contract/default-terms.ts";
import { eventsOf } from "../../../src/kernel/journal/entry.ts";
import type { ToolPolicy } from "../../../src/kernel/policy/tool-policy.ts";
import { hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { asApprovalId, type RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { UNTRUSTED_LABELS, USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import type { Approvals } from "../../../src/runtime/approvals/approvals.ts";
import type { ApprovalCard } from "../../../src/runtime/ports/approver.ts";
import { type Page, StoreError } from "../../../src/runtime/ports/store.ts";
import { manualClock } from "../../adapters/models/manual-clock.ts";
import { verifies } from "../../requirements.ts";
import { mortalStore } from "../trial/mortal-store.ts";
import { APPROVAL_TIMEOUT_MS, openTrial, storeOfFile, type Trial, type TrialOptions } from "../trial/open-trial.ts";
import { outsideWorld } from "../trial/outside-world.ts";
import { askedFor, calls, inTurns, says, scriptedModel } from "../trial/scripted-model.ts";

const store = storeOfFile();
const PAGE = { limit: 100, offset: 0 };
const openDoor = (thing: string) => calls([{ id: "call_1", tool: "door.open", args: { thing } }]);
const doorModel = () => scriptedModel(inTurns(openDoor("front"), says("went on")));

function trialWith(options: Partial<TrialOptions> = {}) {
  const world = options.world ?? outsideWorld();
  const model = doorModel();
  return { world, trial: openTrial({ store: store(), model, world, ...options }) };
}

function decide(approvals: Approvals, card: ApprovalCard, decision: "allow" | "deny" | "done") {
  return approvals.decide({ id: card.id, decision, planHash: card.planHash, principal: "operator" });
}

async function resultsOf(trial: Trial, runId: RunId) {
  return (await trial.assistant.run(runId))?.trace.tool_execution_results ?? [];
}

describe("a call that always asks", () => {
  const policy: ToolPolicy = { ...DEFAULT_POLICY, exceptions: [{ tool: "door.open", decision: "allow" }] };
  const flagsOf = async (trial: Trial, runId: RunId) =>
    (await trial.entries(runId))
      .flatMap(eventsOf)
      .flatMap((event) => (event.type === "calls.planned" ? event.calls.map((call) => call.asksAlways) : []));

  verifies("P-3.3", "is asked about although an exception allows its tool, also after a restart", async () => {
    const world = outsideWorld();
    world.asksAlways = true;
    const first = trialWith({ world, policy }).trial;
    const runId = await first.submit("open it");
    const card = await first.nextCard();
    expect(card.why).toMatch(/^policy\.asks-always: This may start other programs, /);
    await first.stop();

    const second = openTrial({ store: store(), model: doorModel(), world, policy });
    await second.runtime.recover();
    expect(world.effects("door.open")).toBe(0);
    expect(await decide(second.runtime.approvals, await second.nextCard(), "allow")).toEqual({ ok: true, runId });
    expect((await second.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(world.effects("door.open")).toBe(1);
    expect(await flagsOf(second, runId)).toContain(true);
    await second.stop();
  });

  test("does not ask if the operator approved its tool for this run; no other call is marked so", async () => {
    for (const [asksAlways, approvedTools] of [
      [true, ["door.open"]],
      [false, []],
    ] as const) {
      const world = outsideWorld();
      world.asksAlways = asksAlways;
      const { trial } = trialWith({ world, policy });
      const runId = await trial.submit("open it", { approvedTools });
      expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
      expect(world.effects("door.open")).toBe(1);
      expect(await flagsOf(trial, runId)).toEqual([asksAlways ? true : undefined]);
      await trial.stop();
    }
  });
});

describe("an approval", () => {
  verifies(
    ["X-12/durable", "X-12/once", "T-4.2"],
    "waits without a worker, survives a restart, and then lets the call be made once",
    async () => {
      const world = outsideWorld();
      const model = scriptedModel((request, signal) =>
        askedFor(request) === "other" ? says("other") : inTurns(openDoor("front"), says("went on"))(request, signal),
      );
      const first = openTrial({ store: store(), model, world, workers: 1 });
      const runId = await first.submit("open it");
      const card = await first.nextCard();
      expect(card).toMatchObject({ runId, kind: "approve", tool: "door.open" });
      expect(card.shown.split("\n").at(-1)).toBe('door.open {"thing":"front"}');
      expect((await first.ended(await first.submit("other"))).outcome).toBe("COMPLETED_CHAT_ONLY");
      expect((await first.assistant.run(runId))?.status).toBe("waiting_approval");
      await first.stop();

      const second = openTrial({ store: store(), model, world, workers: 1 });
      await second.runtime.recover();
      const again = await second.nextCard();
      expect(again).toEqual(card);
      expect(again.background.call).toMatchObject({ args: { thing: "front" }, argv: [] });
      expect(await second.runtime.approvals.pending(PAGE)).toEqual([card]);
      expect(world.effects("door.open")).toBe(0);
      expect(await decide(second.runtime.approvals, again, "allow")).toEqual({ ok: true, runId });
      expect((await second.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
      expect(world.effects("door.open")).toBe(1);
      expect((await second.store.findApproval(card.id))?.state).toBe("consumed");
      expect(second.withdrawn).toEqual([card.id]);
      expect(await second.runtime.approvals.pending(PAGE)).toEqual([]);
      await second.stop();
    },
  );

  verifies(["X-12", "T-4.2"], "that is denied is a result the model sees; nothing is performed", async () => {
    const { trial, world } = trialWith();
    const runId = await trial.submit("open it");
    await decide(trial.runtime.approvals, await trial.nextCard(), "deny");
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_CHAT_ONLY");
    expect(await resultsOf(trial, runId)).toMatchObject([
      { error: expect.stringContaining("Not run: denied by user (") },
    ]);
    expect(world.performed).toEqual([]);
    await trial.stop();
  });

  verifies(["X-12/plan", "X-12/once"], "is bound to its plan and answered once", async () => {
    const { trial, world } = trialWith();
    const { approvals } = trial.runtime;
    const runId = await trial.submit("open it");
    const card = await trial.nextCard();
    const verdict = { id: card.id, decision: "allow", principal: "operator" } as const;
    const other = await approvals.decide({ ...verdict, planHash: hashCanonical("another plan") });
    expect(other).toMatchObject({ ok: false, code: "conflict" });
    expect(await decide(approvals, card, "done")).toMatchObject({ ok: false, code: "invalid.request" });
    expect(await decide(approvals, { ...card, id: asApprovalId("approval_none") }, "allow")).toMatchObject({
      ok: false,
      code: "not_found",
      message: expect.not.stringContaining("approval_none"),
    });
    const both = await Promise.all([decide(approvals, card, "allow"), decide(approvals, card, "deny")]);
    expect(both.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await decide(approvals, card, "allow")).toMatchObject({ ok: false, code: "conflict" });
    await trial.ended(runId);
    expect(world.effects("door.open")).toBe(both[0].ok ? 1 : 0);
    await trial.stop();
  });

  verifies("X-12", "is denied immediately in an unattended run, even if an operator could be reached", async () => {
    const { trial, world } = trialWith();
    const runId = await trial.submit("open it", { isUnattended: true });
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_CHAT_ONLY");
    expect(await resultsOf(trial, runId)).toMatchObject([
      { error: expect.stringContaining("Not run: it needs approval, and no one could be asked.") },
    ]);
    expect([world.performed, await trial.store.approvalsOf(runId)]).toEqual([[], []]);
    await trial.stop();
  });

  verifies("X-12/unreachable", "is denied immediately where no operator can be reached", async () => {
    const { trial, world } = trialWith({ isReachable: false });
    const runId = await trial.submit("open it");
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_CHAT_ONLY");
    expect(await resultsOf(trial, runId)).toMatchObject([
      { error: expect.stringContaining("Not run: it needs approval, and no one could be asked.") },
    ]);
    expect([world.performed, await trial.store.approvalsOf(runId)]).toEqual([[], []]);
    await trial.stop();
  });

  verifies("X-12/timeout", "is denied at its deadline, each at its own, however many are asked after it", async () => {
    const clock = manualClock(Date.now());
    const { trial, world } = trialWith({ clock });
    const { approvals } = trial.runtime;
    const early = await trial.submit("open it");
    const earlyCard = await trial.nextCard();
    clock.pass(APPROVAL_TIMEOUT_MS / 2);
    const late = await trial.submit("open it too");
    const lateCard = await trial.nextCard();
    clock.pass(APPROVAL_TIMEOUT_MS / 2);
    expect(await decide(approvals, earlyCard, "allow")).toMatchObject({ ok: false, code: "conflict" });
    expect((await trial.ended(early)).outcome).toBe("COMPLETED_CHAT_ONLY");
    expect(await resultsOf(trial, early)).toMatchObject([
      { error: expect.stringContaining("no one answered in time") },
    ]);
    expect((await trial.store.findApproval(earlyCard.id))?.state).toBe("expired");
    expect((await trial.store.findApproval(lateCard.id))?.state).toBe("pending");
    clock.pass(APPROVAL_TIMEOUT_MS);
    await trial.ended(late);
    expect(world.performed).toEqual([]);
    await trial.stop();
  });

  verifies("X-12", "is denied at its deadline even if the store could not be read then", async () => {
    const clock = manualClock(Date.now());
    const whole = store();
    let looks = 0;
    const { promise: failed, resolve: fail } = Promise.withResolvers<void>();
    const shaky = {
      ...whole,
      pendingApprovals: (page: Page) => {
        looks += 1;
        if (looks > 1) return whole.pendingApprovals(page);
        fail();
        return Promise.reject(new StoreError("store.busy", "held by somebody"));
      },
    };
    const { trial, world } = trialWith({ store: shaky, clock });
    const runId = await trial.submit("open it");
    await trial.nextCard();
    await clock.armed;
    clock.pass(APPROVAL_TIMEOUT_MS);
    await failed;
    await nextTurn();
    clock.pass(1_000);
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_CHAT_ONLY");
    expect(world.performed).toEqual([]);
    await trial.stop();
  });

  test("expires while no process runs, and is denied by the next one", async () => {
    const clock = manualClock(Date.now());
    const { trial, world } = trialWith({ clock });
    const runId = await trial.submit("open it");
    await trial.nextCard();
    await trial.stop();
    clock.pass(APPROVAL_TIMEOUT_MS);
    const next = trialWith({ clock, world }).trial;
    await next.runtime.recover();
    await next.ended(runId);
    expect(world.performed).toEqual([]);
    await next.stop();
  });

  verifies("X-12", "that was allowed lapses with its deadline, while no process runs", async () => {
    const clock = manualClock(Date.now());
    const { trial, world } = trialWith({ clock });
    const runId = await trial.submit("open it");
    const card = await trial.nextCard();
    await trial.stop();
    const second = trialWith({ clock, world }).trial;
    expect(await decide(second.runtime.approvals, card, "allow")).toMatchObject({ ok: true });
    await second.stop();
    clock.pass(APPROVAL_TIMEOUT_MS);
    const third = trialWith({ clock, world }).trial;
    await third.runtime.recover();
    await third.ended(runId);
    expect(world.performed).toEqual([]);
    const lapsed = "policy.denied: Not run: its approval expired before it was used. Run it again to be asked.";
    expect(await resultsOf(third, runId)).toMatchObject([{ error: lapsed }]);
    await third.stop();
  });

  verifies("X-12", "lapses with its deadline while its call waits for another one", async () => {
    const clock = manualClock(Date.now());
    let leapMs = 0;
    const leaping = { ...clock, nowMs: () => clock.nowMs() + leapMs };
    const world = outsideWorld();
    world.conduct = () => {
      leapMs = APPROVAL_TIMEOUT_MS;
      return "opened";
    };
    const door = (id: string) => ({ id, tool: "door.open", args: { thing: id } });
    const model = scriptedModel(inTurns(calls([door("call_1"), door("call_2")]), says("went on")));
    const { trial } = trialWith({ clock: leaping, world, model });
    const runId = await trial.submit("open both");
    for (const card of [await trial.nextCard(), await trial.nextCard()]) {
      expect(await decide(trial.runtime.approvals, card, "allow")).toMatchObject({ ok: true });
    }
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(world.performed.map(({ args }) => args)).toEqual([{ thing: "call_1" }]);
    expect((await resultsOf(trial, runId)).map(({ error }) => error)).toEqual([
      "",
      "policy.denied: Not run: its approval expired before it was used. Run it again to be asked.",
    ]);
    expect([trial.storeFailures, trial.runtime.isIntact]).toEqual([[], true]);
    await trial.stop();
  });

  verifies("X-12", "does not cover a plan that has changed since", async () => {
    const { trial, world } = trialWith();
    const runId = await trial.submit("open it");
    const card = await trial.nextCard();
    // The allowance is durable, and the world changes before the run can go on under it.
    world.circumstances = "another door";
    await decide(trial.runtime.approvals, card, "allow");
    const asked = await Promise.race([trial.nextCard(), trial.ended(runId).then(() => null)]);
    expect(world.performed).toEqual([]);
    if (asked !== null) {
      expect(asked.planHash).not.toBe(card.planHash);
      await decide(trial.runtime.approvals, asked, "deny");
    }
    await trial.ended(runId);
    expect(world.performed).toEqual([]);
    await trial.stop();
  });

  test("is withdrawn when its plan changes while it waits", async () => {
    const { trial, world } = trialWith();
    const runId = await trial.submit("open it");
    const stale = await trial.nextCard();
    await trial.stop();
    world.circumstances = "another door";
    const next = trialWith({ world }).trial;
    await next.runtime.recover();
    const card = await next.nextCard();
    expect(card.id).not.toBe(stale.id);
    expect((await next.runtime.approvals.pending(PAGE)).map(({ id }) => id)).toEqual([card.id]);
    expect(await decide(next.runtime.approvals, stale, "allow")).toMatchObject({ ok: false, code: "conflict" });
    await decide(next.runtime.approvals, card, "allow");
    await next.ended(runId);
    expect(world.effects("door.open")).toBe(1);
    await next.stop();
  });

  test("is withdrawn with its cancelled run, and a late answer does no harm", async () => {
    const { trial, world } = trialWith();
    const runId = await trial.submit("open it");
    const card = await trial.nextCard();
    const [, decided] = await Promise.all([
      trial.runtime.cancel(runId, "operator"),
      decide(trial.runtime.approvals, card, "allow"),
    ]);
    expect(decided.ok).toBe(true);
    expect((await trial.ended(runId)).outcome).toBe("INTERRUPTED");
    expect([world.performed, trial.storeFailures, trial.runtime.isIntact]).toEqual([[], [], true]);
    await trial.stop();
  });

  verifies("X-12", "expires with its run, in one commit, and a later answer is a conflict", async () => {
    const { trial, world } = trialWith();
    const runId = await trial.submit("open it");
    const card = await trial.nextCard();
    const before = await trial.store.ledgerHead();
    await trial.runtime.cancel(runId, "operator");
    await trial.ended(runId);
    // Nothing was waited for but the seal.
    expect(await trial.store.findApproval(card.id)).toMatchObject({ state: "expired", decidedBy: "system" });
    expect(await decide(trial.runtime.approvals, card, "allow")).toMatchObject({ ok: false, code: "conflict" });
    expect((await trial.store.readLedger(before.seq, 10)).map(({ kind }) => kind)).toEqual(["run.sealed"]);
    await trial.stop();
    expect([world.performed, trial.withdrawn, trial.storeFailures]).toEqual([[], [card.id], []]);
  });
});

describe("a tool that is not allowlisted", () => {
  test("is denied without a question", async () => {
    const { trial, world } = trialWith({ policy: { ...DEFAULT_POLICY, allow: ["look.at"] } });
    const runId = await trial.submit("open it");
    await trial.ended(runId);
    expect(await resultsOf(trial, runId)).toMatchObject([{ error: expect.stringMatching(/^policy\.denied: /) }]);
    expect([world.performed, await trial.store.approvalsOf(runId)]).toEqual([[], []]);
    await trial.stop();
  });
});

describe("an approver reads", () => {
  test("the rule and its reason, whether the call can be undone, and that nothing untrusted was seen", async () => {
    const { trial } = trialWith();
    const runId = await trial.submit("open it");
    const card = await trial.nextCard();
    expect(card.why).toBe("policy.risk.side_effect: This has an effect outside the run, so your policy asks first.");
    expect(card.shown.split("\n")).toEqual([
      'Call: door.open front ""',
      "Can be undone: unknown; the world may keep it",
      "Untrusted text in its context: none",
      'door.open {"thing":"front"}',
    ]);
    await decide(trial.runtime.approvals, card, "deny");
    await trial.ended(runId);
    await trial.stop();
  });

  test("no secret from the plan, neither in the question nor in its stored body", async () => {
    const key = `sk-proj-${"Ab1".repeat(16)}`;
    const world = outsideWorld();
    world.shown = (tool) => `${tool} with ${key}`;
    const { trial } = trialWith({ world });
    const runId = await trial.submit("open it");
    const card = await trial.nextCard();
    expect(card.shown).toContain("door.open with [REDACTED");
    expect(card.shown).not.toContain(key);
    const [pending] = await trial.runtime.approvals.pending(PAGE);
    expect(pending?.shown).toBe(card.shown);
    await decide(trial.runtime.approvals, card, "deny");
    await trial.ended(runId);
    await trial.stop();
  });

  test("every call that brought untrusted text into this context, after a restart as before", async () => {
    const world = outsideWorld();
    const look = (id: string, thing: string) => ({ id, tool: "look.at", args: { thing } });
    const long = "x".repeat(500);
    const model = scriptedModel(
      inTurns(
        calls([look("call_1", "a page"), look("call_2", "a page")]),
        (request, signal) => {
          world.labels = USER_LABELS;
          return inTurns(says(""), calls([look("call_1", "a file")]))(request, signal);
        },
        (request, signal) => {
          world.labels = UNTRUSTED_LABELS;
          return inTurns(says(""), says(""), calls([look("call_1", long)]))(request, signal);
        },
        openDoor("front"),
      ),
    );
    world.labels = UNTRUSTED_LABELS;
    const first = openTrial({ store: store(), model, world });
    const runId = await first.submit("look, then open it");
    const card = await first.nextCard();
    const sources = (await first.entries(runId)).filter(
      ({ kind, result }) =>
        kind === "OBSERVE" && result?.type === "tool.finished" && result.labels.integrity === "untrusted",
    );
    expect(sources).toHaveLength(2);
    expect(card.shown.split("\n").slice(2, -1)).toEqual([
      "Untrusted text in its context came from:",
      `  entry ${sources[0]?.seq}: look.at thing="a page"`,
      `  entry ${sources[1]?.seq}: look.at thing="${"x".repeat(59)}…`,
    ]);
    expect(card.background.provenance).toMatchObject([
      { seq: sources[0]?.seq, tool: "look.at", source: 'look.at thing="a page"', labels: UNTRUSTED_LABELS },
      { seq: sources[1]?.seq, tool: "look.at", excerpt: expect.stringMatching(/^look\.at x{272}$/), isCut: true },
    ]);
    expect(card.labels).toEqual({ integrity: "untrusted", confidentiality: "private" });
    await first.stop();
    const second = openTrial({ store: store(), model, world });
    await second.runtime.recover();
    expect((await second.nextCard()).shown).toBe(card.shown);
    await decide(second.runtime.approvals, card, "deny");
    await second.ended(runId);
    await second.stop();
  });
});

describe("an effect whose outcome is unknown", () => {
  test("is asked about even where no operator can be reached, and ends the run at its deadline", async () => {
    const clock = manualClock(Date.now());
    const world = outsideWorld();
    const { promise: never } = Promise.withResolvers<never>();
    const { promise: acting, resolve: act } = Promise.withResolvers<void>();
    world.conduct = () => {
      act();
      return never;
    };
    const wanted = { approvedTools: ["door.open"] };
    const dying = mortalStore(store(), { after: Number.POSITIVE_INFINITY, lastOneLands: false });
    const first = openTrial({ store: dying, model: doorModel(), world, clock });
    const runId = await first.submit("open it", wanted);
    await acting;
    world.conduct = () => "opened";
    const second = openTrial({ store: store(), model: doorModel(), world, clock, isReachable: false });
    await second.runtime.recover();
    const card = await second.nextCard();
    expect(card).toMatchObject({ kind: "resolve", tool: "door.open", runId });
    expect(await decide(second.runtime.approvals, card, "allow")).toMatchObject({ ok: false, code: "invalid.request" });
    clock.pass(APPROVAL_TIMEOUT_MS);
    expect(await second.ended(runId)).toMatchObject({ outcome: "INTERRUPTED", reason: "effect.unresolved" });
    expect(world.effects("door.open")).toBe(1);
    await second.stop();
  });
});
