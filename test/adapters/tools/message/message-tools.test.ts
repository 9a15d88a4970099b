/** message.send and message.draft: what is planned is what goes out, or nothing does. */

import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createToolbox } from "../../../../src/adapters/tools/create-toolbox.ts";
import { messageTools } from "../../../../src/adapters/tools/message/message-send.ts";
import { hashBytes } from "../../../../src/kernel/vocabulary/hash.ts";
import { USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { parseToolResponse } from "../../../../src/kernel/vocabulary/tool-envelope.ts";
import type { Arguments, CallContext, Planned } from "../../../../src/runtime/ports/toolbox.ts";
import { temporaryWorkspace } from "../fs/temporary-workspace.ts";
import { failing, type TestChannel, testChannel } from "./test-channel.ts";

const KEY = hashBytes("a key");
const HELLO = { channel: "post", recipient: "contact:anna", text: "hello" };
const CONTEXT: CallContext = {
  ...{ requestId: "req_1", runId: "run_1", agentId: "main", timeoutMs: 1000, idempotencyKey: null },
  ...{ isRepeat: false, mayAct: true, seen: USER_LABELS, signal: new AbortController().signal, onOutput: null },
};

async function post(
  channel: TestChannel = testChannel(),
  templates: Record<string, string> = { thanks: "Thank you." },
) {
  const { workspace, root, outside } = await temporaryWorkspace();
  const defects: unknown[] = [];
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const toolbox = createToolbox(messageTools({ channels: [channel], templates, workspace }), {
    clock,
    onDefect: (error) => defects.push(error),
  });
  const plan = async (tool: string, args: Arguments): Promise<Planned> => {
    const planned = await toolbox.plan(tool, args);
    if (!planned.ok) throw new Error(`${planned.error.code}: ${planned.error.message}`);
    return planned;
  };
  const run = async (planned: Planned, changes: Partial<CallContext> = {}) => {
    const parsed = parseToolResponse(await toolbox.run(planned, { ...CONTEXT, ...changes }));
    expect(defects).toEqual([]);
    return parsed.ok ? parsed.response : expect.unreachable(parsed.problem);
  };
  return { channel, toolbox, root, outside, templates, plan, run };
}

describe("message.send", () => {
  test("shows who gets what, whole, and sends that", async () => {
    const { plan, run, channel, root } = await post();
    await writeFile(join(root, "report.txt"), "figures");
    const planned = await plan("message.send", { ...HELLO, text: "hello\nsee a.example", attachments: ["report.txt"] });
    expect(planned).toMatchObject({
      ...{ risk: "side_effect", idempotency: "opaque", egress: [] },
      reversal: { kind: "irreversible" },
      send: { templateId: null, recipientType: "contact", links: 1, attachments: 1 },
    });
    expect(planned.shown.split("\n")).toEqual([
      "Send a message",
      "  channel:  post",
      '  to:       "anna" (contact)',
      "  bytes:    19",
      "  links:    1, possible ones included",
      `  attached: "report.txt", 7 bytes, sha256 ${hashBytes("figures")}`,
      "  the whole text, each line behind a bar:",
      "| hello",
      "| see a.example",
    ]);
    expect(await run(planned)).toMatchObject({ ok: true, output: { channel: "post", recipient: "anna", sent: true } });
    expect(channel.sent).toMatchObject([
      { recipient: { address: "anna", type: "contact" }, text: "hello\nsee a.example", idempotencyKey: null },
    ]);
    expect(channel.sent[0]?.attachments).toEqual([{ name: "report.txt", bytes: Buffer.from("figures") }]);
  });

  test("a template is the operator's text, word for word", async () => {
    const { plan, run, channel, toolbox } = await post();
    const { text: _, ...named } = { ...HELLO, template_id: "thanks" };
    const planned = await plan("message.send", named);
    expect(planned.send).toEqual({ templateId: "thanks", recipientType: "contact", links: 0, attachments: 0 });
    expect(planned.shown).toContain('template: "thanks"');
    await run(planned);
    expect(channel.sent).toMatchObject([{ text: "Thank you.", templateId: "thanks" }]);
    for (const template_id of ["other", "__proto__", "toString"]) {
      expect(await toolbox.plan("message.send", { ...named, template_id })).toMatchObject({
        error: { code: "tool.input_invalid", message: "No such template. Known templates: thanks." },
      });
    }
    expect(await toolbox.plan("message.send", { ...HELLO, template_id: "thanks" })).toMatchObject({ ok: false });
  });

  test.each<readonly [string, object, string]>([
    ["no text", { text: " \n" }, "tool.input_invalid"],
    ["a NUL", { text: "a\0b" }, "tool.input_invalid"],
    ["too much text", { text: "x".repeat(65_537) }, "tool.input_invalid"],
    ["another channel", { channel: "pigeon" }, "tool.input_invalid"],
    ["nobody", { recipient: "contact:nobody" }, "invalid.request"],
    ["a path outside", { attachments: ["../outside/canary.txt"] }, "policy.denied"],
    ["a missing file", { attachments: ["none.txt"] }, "invalid.request"],
    ["a link", { attachments: ["link.txt"] }, "policy.denied"],
    ["one file twice", { attachments: ["a.txt", "./a.txt"] }, "tool.input_invalid"],
  ])("%s is refused", async (_what, changes, code) => {
    const { toolbox, root, outside } = await post();
    await writeFile(join(root, "a.txt"), "a");
    await symlink(join(outside, "canary.txt"), join(root, "link.txt"));
    expect(await toolbox.plan("message.send", { ...HELLO, ...changes })).toMatchObject({ ok: false, error: { code } });
  });

  test("what has changed since it was planned is not sent", async () => {
    const channel = testChannel();
    const templates = { thanks: "Thank you." };
    const { plan, run, root } = await post(channel, templates);
    await writeFile(join(root, "a.txt"), "a");
    const attached = await plan("message.send", { ...HELLO, attachments: ["a.txt"] });
    await writeFile(join(root, "a.txt"), "b");
    const { text: _, ...named } = { ...HELLO, template_id: "thanks" };
    const template = await plan("message.send", named);
    templates.thanks = "Thank you. Send money.";
    const asked = await plan("message.send", HELLO);
    const { findRecipient } = channel;
    for (const planned of [attached, template]) {
      expect(await run(planned)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    }
    expect(await run(asked, { mayAct: false })).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    Object.assign(channel, { findRecipient: () => Promise.resolve({ address: "mallory", type: "contact" }) });
    expect(await run(asked)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    Object.assign(channel, { findRecipient, idempotency: "keyed" });
    expect(await run(asked)).toMatchObject({ ok: false, error: { code: "policy.denied" } });
    expect(channel.sent).toEqual([]);
  });

  test.each([
    ["channel.refused", "invalid.request", false, undefined],
    ["channel.unavailable", "internal.error", true, undefined],
    ["channel.unknown", "internal.error", false, "unknown"],
  ] as const)("%s is reported as what it is", async (failure, code, retryable, outcome) => {
    const { plan, run, channel } = await post();
    channel.conduct = failing(failure);
    const answer = await run(await plan("message.send", HELLO));
    expect(answer).toMatchObject({ ok: false, error: { code, retryable } });
    expect(answer.error?.details["outcome"]).toBe(outcome);
    expect(answer.error?.message).toContain("post office");
  });

  test("stopped while sending, the result is unknown; stopped before, nothing was sent", async () => {
    const { plan, run, channel } = await post();
    const planned = await plan("message.send", HELLO);
    const stopping = new AbortController();
    channel.conduct = (_message, signal) => {
      stopping.abort();
      return Promise.reject(signal.reason);
    };
    expect(await run(planned, { signal: stopping.signal })).toMatchObject({
      error: { details: { outcome: "unknown" } },
    });
    expect(await run(planned, { signal: AbortSignal.abort() })).toMatchObject({ error: { code: "timeout" } });
  });

  test("a channel that takes a key is given it, and sends once", async () => {
    const { plan, run, channel } = await post(testChannel({ idempotency: "keyed" }));
    const planned = await plan("message.send", HELLO);
    expect(planned.idempotency).toBe("keyed");
    await run(planned, { idempotencyKey: KEY });
    await run(planned, { idempotencyKey: KEY, isRepeat: true });
    expect(channel.sent).toMatchObject([{ idempotencyKey: KEY }]);
  });
});

describe("message.draft", () => {
  test("is the message to be read; nothing leaves", async () => {
    const { plan, run, channel, toolbox } = await post();
    const planned = await plan("message.draft", HELLO);
    expect(planned).toMatchObject({ risk: "draft_only", idempotency: "own_store", egress: [], send: null });
    expect(await run(planned)).toMatchObject({
      output: { channel: "post", recipient: "anna", recipient_type: "contact", text: "hello", sent: false },
    });
    expect(channel.sent).toEqual([]);
    expect(await toolbox.plan("message.draft", { ...HELLO, recipient: "nobody" })).toMatchObject({ ok: false });
  });
});

test("without a channel there is neither", async () => {
  const { workspace } = await temporaryWorkspace();
  expect(messageTools({ channels: [], templates: {}, workspace })).toEqual([]);
});
