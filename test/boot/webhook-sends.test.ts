/** message.send to a real receiver through whole runs, and the five conditions of the honeypot exception (P-3.3). */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { asRunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { answer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { type ChannelHome, openChannels } from "./open-channels.ts";

const GOOD = { channel: "crm", recipient: "ops", template_id: "thanks" };
const HONEYPOT = { templates: ["thanks", "linked"], recipientTypes: ["team"], perHour: 2 };
const TEMPLATES = { thanks: "Thank you.", other: "Good bye.", linked: "See https://a.example/x for more." };

function open() {
  return openChannels({
    script: ({ body }) => {
      if (body.messages.at(-1)?.role === "tool") return answer({ text: "ok" });
      const asked = String(body.messages.findLast(({ role }) => role === "user")?.["content"]);
      return answer({ calls: [{ name: "message.send", arguments: JSON.parse(asked) }] });
    },
    channel: { recipients: { ops: "team" } },
    tools: { message: { templates: TEMPLATES }, policy: { allow: ["message.*"], honeypot: HONEYPOT } },
  });
}

/** It needs an approval, and there is no operator to ask. */
const UNASKED = /^policy\.denied: Not run: it needs approval/;

/** The error of the only call; empty if there is none. */
async function send({ surety }: ChannelHome, call: object, unattended = true): Promise<string> {
  const message = JSON.stringify(call);
  const submitted = await surety.operations.call("runs.create", { agent_id: "main", message, unattended });
  if (!submitted.ok) throw new Error(submitted.message);
  const runId = asRunId(submitted.value.id);
  return await vi.waitFor(
    async () => {
      const run = await surety.assistant.run(runId);
      if (run?.outcome === null || run === null) throw new Error("it goes on");
      return run.trace.tool_execution_results[0]?.error ?? "";
    },
    { timeout: 10_000, interval: 10 },
  );
}

verifies("P-3.3", "a send goes out unasked only with all five conditions of the honeypot exception", async () => {
  const channels = await open();
  await writeFile(join(channels.workspace, "a.txt"), "a");
  const { template_id: _, ...untemplated } = GOOD;
  const refused = [
    { ...untemplated, text: "Thank you." },
    { ...GOOD, template_id: "other" },
    { ...GOOD, recipient: "anna" },
    { ...GOOD, template_id: "linked" },
    { ...GOOD, attachments: ["a.txt"] },
  ];
  for (const call of refused) {
    expect(await send(channels, call), JSON.stringify(call)).toMatch(UNASKED);
  }
  expect(channels.receiver.posted).toEqual([]);
  expect(await send(channels, GOOD)).toBe("");
  expect(await send(channels, GOOD)).toBe("");
  expect(await send(channels, GOOD)).toMatch(UNASKED);
  expect(channels.receiver.posted.map(({ isSigned, payload }) => [isSigned, payload])).toEqual([
    [
      true,
      expect.objectContaining({ recipientId: "ops", recipientType: "team", text: "Thank you.", templateId: "thanks" }),
    ],
    [true, expect.anything()],
  ]);
  expect(await send(channels, { ...GOOD, recipient: "unknown" })).toMatch(/no such recipient/);
});

test("an approved send reaches an accepted sender with its attachment, and is refused as the receiver says", async () => {
  const channels = await open();
  await writeFile(join(channels.workspace, "a.txt"), "a");
  const call = { channel: "crm", recipient: "anna", text: "Hello.", attachments: ["a.txt"] };
  const decideOnce = async (): Promise<void> => {
    await vi.waitFor(async () => {
      const listed = await channels.surety.operations.call("approvals.list", {});
      const [card] = listed.ok ? listed.value.approvals : [];
      if (card === undefined) throw new Error("nothing is asked");
      const { id, plan_hash } = card;
      await channels.surety.operations.call("approvals.decide", { id, decision: "allow", plan_hash });
    });
  };
  const [sent] = await Promise.all([send(channels, call, false), decideOnce()]);
  expect(sent).toBe("");
  const attachments = [{ name: "a.txt", data: "YQ==" }];
  expect(channels.receiver.posted[0]?.payload).toMatchObject({ recipientId: "anna", text: "Hello.", attachments });
  channels.receiver.conduct = () => 403;
  const [refused] = await Promise.all([send(channels, call, false), decideOnce()]);
  expect(refused).toMatch(/^invalid\.request.*HTTP 403/);
});
