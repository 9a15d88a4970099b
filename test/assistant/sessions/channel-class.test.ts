import { expect, test } from "vitest";
import type { InboundMessage } from "../../../src/assistant/sessions/inbound-message.ts";
import { childRunId } from "../../../src/kernel/contract/child-contract.ts";
import { DEFAULT_POLICY } from "../../../src/kernel/contract/default-terms.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { ChannelClass } from "../../../src/kernel/vocabulary/risk.ts";
import { contractOf } from "../../../src/runtime/run/read-run.ts";
import { openTrial, storeOfFile, type Trial } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { askedFor, calls, inTurns, says, scriptedModel } from "../../runtime/trial/scripted-model.ts";
import { OPERATOR, openChat, said } from "./open-chat.ts";

const store = storeOfFile();
const GROUP = { kind: "room", id: "room", mentioned: true } as const;

function openTalk(model: ReturnType<typeof scriptedModel>, policy = DEFAULT_POLICY) {
  const trial = openTrial({ store: store(), world: outsideWorld(), model, policy });
  const { chat } = openChat(trial);
  const run = async (text: string, also: Partial<InboundMessage>): Promise<RunId> => {
    const received = await chat.receive(said(text, also), OPERATOR);
    if (!received.ok || received.kind !== "run") throw new Error(JSON.stringify(received));
    await trial.ended(received.runId);
    return received.runId;
  };
  return { trial, chat, run };
}

async function classOf({ store: runs }: Trial, runId: RunId): Promise<ChannelClass> {
  const run = await runs.findRun(runId);
  if (run === null) throw new Error("no such run");
  return contractOf(run).channelClass;
}

test.each<[string, Partial<InboundMessage>, ChannelClass]>([
  ["the default channel", {}, "cli_local"],
  ["the terminal", { channel: "cli" }, "cli_local"],
  ["the local web pages", { channel: "web" }, "cli_local"],
  ["a messenger", { channel: "telegram" }, "external_message"],
  ["a room of a messenger", { channel: "slack", group: GROUP }, "external_message"],
  ["a channel nobody has heard of", { channel: "cli-2" }, "external_message"],
  ["e-mail", { channel: "email" }, "external_email"],
])("the contract of a message from %s holds its channel's class", async (_name, origin, expected) => {
  const { trial, run } = openTalk(scriptedModel(() => says("ok")));
  expect(await classOf(trial, await run("hi", { senderId: `sender_${expected}`, ...origin }))).toBe(expected);
  await trial.stop();
});

test("a delegated run has the class of the run that delegates", async () => {
  const delegate = calls([{ id: "call_0", tool: "agent.delegate", args: { thing: "the task" } }]);
  const parent = inTurns(delegate, says("done"));
  const model = scriptedModel((request, signal) =>
    askedFor(request) === "delegate" ? parent(request, signal) : says("the child's answer"),
  );
  const policy = { ...DEFAULT_POLICY, channels: { external_message: ["*"] } };
  const { trial, run } = openTalk(model, policy);
  const runId = await run("delegate", { channel: "telegram", senderId: "delegates" });
  expect(await classOf(trial, childRunId(runId, "step-1", 0))).toBe("external_message");
  await trial.stop();
});
