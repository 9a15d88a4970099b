/** The honeypot exception through real runs (P-3.3): five conditions, one of them counted by the store across runs. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createToolbox } from "../../src/adapters/tools/create-toolbox.ts";
import { messageTools } from "../../src/adapters/tools/message/message-send.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { DEFAULT_POLICY } from "../../src/kernel/contract/default-terms.ts";
import type { ToolPolicy } from "../../src/kernel/policy/tool-policy.ts";
import type { RunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { UNTRUSTED_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import type { ApprovalCard } from "../../src/runtime/ports/approver.ts";
import type { Clock } from "../../src/runtime/ports/clock.ts";
import type { Toolbox } from "../../src/runtime/ports/toolbox.ts";
import { manualClock } from "../adapters/models/manual-clock.ts";
import { temporaryHome } from "../adapters/store-sqlite/temporary-home.ts";
import { temporaryWorkspace } from "../adapters/tools/fs/temporary-workspace.ts";
import { failing, testChannel } from "../adapters/tools/message/test-channel.ts";
import { verifies } from "../requirements.ts";
import { openTrial, type Trial } from "./trial/open-trial.ts";
import { outsideWorld } from "./trial/outside-world.ts";
import { askedFor, calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";

const HOUR_MS = 3_600_000;
const TEMPLATES = { thanks: "Thank you.", other: "Good bye.", linked: "See a.example for more." };
const GOOD = { channel: "post", recipient: "contact:anna", template_id: "thanks" };
const HONEYPOT = { templates: ["thanks", "linked"], recipientTypes: ["contact"], perHour: 2 };

type Send = Readonly<Record<string, unknown>>;

/** A home, a workspace and a channel; trials on them are lives of one gateway. */
async function stage(idempotency: "keyed" | "opaque" = "opaque") {
  const home = temporaryHome();
  onTestFinished(() => home.dispose());
  const store = await home.open();
  const { workspace, root } = await temporaryWorkspace();
  await writeFile(join(root, "a.txt"), "a");
  const channel = testChannel({ idempotency });
  const sending = createToolbox(messageTools({ channels: [channel], templates: TEMPLATES, workspace }), {
    clock: systemClock,
    onDefect: (error) => expect.unreachable(String(error)),
  });
  const world = outsideWorld();
  world.labels = UNTRUSTED_LABELS;
  const toolbox = both(world.toolbox, sending);
  /** Each run sends what its message says, as JSON: one batch a line. */
  const model = scriptedModel((request, signal) => {
    const turns = askedFor(request)
      .split("\n")
      .map((line) => batch(JSON.parse(line)));
    return inTurns(...turns, says("done"))(request, signal);
  });
  const open = (honeypot: Partial<ToolPolicy["honeypot"]> = {}, clock: Clock = systemClock): Trial =>
    openTrial({ store, model, world: { ...world, toolbox }, clock, policy: policyWith({ ...HONEYPOT, ...honeypot }) });
  return { channel, open };
}

function policyWith(honeypot: ToolPolicy["honeypot"]): ToolPolicy {
  return { ...DEFAULT_POLICY, allow: ["*"], channels: { cli_local: ["*"] }, honeypot };
}

function batch(sends: readonly (Send & { readonly tool?: string })[]) {
  return calls(sends.map(({ tool = "message.send", ...args }, index) => ({ id: `call_${index}`, tool, args })));
}

/** Two registries as one, for a world that has both. */
function both(one: Toolbox, other: Toolbox): Toolbox {
  const has = (name: string): boolean => other.tools.some((tool) => tool.name === name);
  return {
    ...one,
    tools: [...one.tools, ...other.tools],
    plan: (tool, args) => (has(tool) ? other : one).plan(tool, args),
    run: (planned, context) => (has(planned.tool) ? other : one).run(planned, context),
  };
}

const awaited = new WeakMap<Trial, Promise<ApprovalCard>>();

/** How the first question reads, denied; null where none was asked. */
async function askedIn(trial: Trial, runId: RunId): Promise<string | null> {
  // A wait for a question that was never asked takes the next one.
  const next = awaited.get(trial) ?? trial.nextCard();
  awaited.set(trial, next);
  const card = await Promise.race([next, trial.ended(runId).then(() => null)]);
  if (card === null) return null;
  awaited.delete(trial);
  await trial.runtime.approvals.decide({ ...card, decision: "deny", principal: "operator" });
  await trial.ended(runId);
  return card.why;
}

async function send(trial: Trial, args: Send): Promise<string | null> {
  return askedIn(trial, await trial.submit(JSON.stringify([args])));
}

const BY_RISK = expect.stringMatching(/^policy\.risk\.side_effect: .*your policy asks first/);

describe("a honeypot send", () => {
  verifies("P-3.3", "goes out unasked when all five conditions hold", async () => {
    const { channel, open } = await stage();
    const trial = open();
    const runId = await trial.submit(JSON.stringify([GOOD]));
    expect(await askedIn(trial, runId)).toBeNull();
    expect(channel.sent).toMatchObject([{ text: "Thank you.", recipient: { address: "anna" } }]);
    const decided = (await trial.entries(runId)).find(({ kind }) => kind === "VALIDATE_CALLS");
    expect(decided).toMatchObject({ decided: { calls: [{ policyId: "policy.honeypot", decision: "allow" }] } });
    await trial.stop();
  });

  const { template_id: _, ...untemplated } = GOOD;
  verifies(["P-3.3", "P-6/tool-honeypot"], "is asked about when any one of the five is broken", async () => {
    const broken: readonly (readonly [string, Send])[] = [
      ["another template", { ...GOOD, template_id: "other" }],
      ["no template, with its very text", { ...untemplated, text: "Thank you." }],
      ["another recipient type", { ...GOOD, recipient: "stranger:anna" }],
      ["a link", { ...GOOD, template_id: "linked" }],
      ["an attachment", { ...GOOD, attachments: ["a.txt"] }],
    ];
    const { channel, open } = await stage();
    const trial = open();
    for (const [what, args] of broken) expect([what, await send(trial, args)]).toEqual([what, BY_RISK]);
    expect(channel.sent).toEqual([]);
    // What was asked about has used up nothing.
    expect([await send(trial, GOOD), await send(trial, GOOD)]).toEqual([null, null]);
    expect(await send(trial, GOOD)).toEqual(BY_RISK);
    expect(channel.sent).toHaveLength(2);
    await trial.stop();
  });

  verifies(["P-3.3", "P-6/tool-honeypot"], "is counted durably across runs, however many send at once", async () => {
    const { channel, open } = await stage();
    const first = open({ perHour: 3 });
    const runs = await Promise.all(Array.from({ length: 8 }, () => first.submit(JSON.stringify([GOOD]))));
    for (let asked = 0; asked < 5; asked += 1) {
      const card = await first.nextCard();
      await first.runtime.approvals.decide({ ...card, decision: "deny", principal: "operator" });
    }
    for (const runId of runs) await first.ended(runId);
    expect(channel.sent).toHaveLength(3);
    await first.stop();
    const second = open({ perHour: 3 });
    expect(await send(second, GOOD)).toEqual(BY_RISK);
    await second.stop();
  });

  test("counts those before it in the same batch and in the same run", async () => {
    const { channel, open } = await stage();
    const trial = open();
    const other = { ...GOOD, recipient: "contact:bob" };
    const runId = await trial.submit(
      [[GOOD], [other, { ...GOOD, recipient: "contact:carl" }]].map((sends) => JSON.stringify(sends)).join("\n"),
    );
    expect(await askedIn(trial, runId)).toEqual(BY_RISK);
    expect(channel.sent.map(({ recipient }) => recipient.address)).toEqual(["anna", "bob"]);
    await trial.stop();
  });

  test("may go again when an hour has passed", async () => {
    const clock = manualClock();
    const { channel, open } = await stage();
    const trial = open({ perHour: 1 }, clock);
    expect(await send(trial, GOOD)).toBeNull();
    clock.pass(HOUR_MS - 1);
    expect(await send(trial, GOOD)).toEqual(BY_RISK);
    clock.pass(1);
    expect(await send(trial, GOOD)).toBeNull();
    expect(channel.sent).toHaveLength(2);
    await trial.stop();
  });

  test("never goes by itself from a context that holds private and untrusted data, and uses up nothing", async () => {
    const { channel, open } = await stage();
    const trial = open({ perHour: 1 });
    const reading = { tool: "look.at", thing: "a page" };
    const runId = await trial.submit([[reading], [GOOD]].map((sends) => JSON.stringify(sends)).join("\n"));
    expect(await askedIn(trial, runId)).toEqual(BY_RISK);
    expect(channel.sent).toEqual([]);
    expect(await send(trial, GOOD)).toBeNull();
    await trial.stop();
  });

  test("a limit of nothing lets nothing go", async () => {
    const { channel, open } = await stage();
    const trial = open({ perHour: 0 });
    expect(await send(trial, GOOD)).toEqual(BY_RISK);
    expect(channel.sent).toEqual([]);
    await trial.stop();
  });
});

describe("a message whose outcome is unknown", () => {
  test("is asked about on a channel without keys, and never sent again by itself", async () => {
    const { channel, open } = await stage();
    const trial = open();
    channel.conduct = failing("channel.unknown");
    const runId = await trial.submit(JSON.stringify([GOOD]));
    const card = await trial.nextCard();
    expect(card).toMatchObject({ kind: "resolve", tool: "message.send", runId });
    channel.conduct = () => Promise.resolve();
    await trial.runtime.approvals.decide({ ...card, decision: "done", principal: "operator" });
    expect((await trial.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(channel.sent).toEqual([]);
    await trial.stop();
  });

  test("is reported as such on a channel with keys", async () => {
    const { channel, open } = await stage("keyed");
    const trial = open();
    channel.conduct = failing("channel.unknown");
    const runId = await trial.submit(JSON.stringify([GOOD]));
    await trial.ended(runId);
    const results = (await trial.assistant.run(runId))?.trace.tool_execution_results;
    expect(results).toMatchObject([
      { error: expect.stringMatching(/^internal\.error: The message may have been sent or not/) },
    ]);
    await trial.stop();
  });
});
