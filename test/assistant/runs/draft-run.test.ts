/** From a request to a run: what is refused, by name, and leaves nothing behind. */
import { describe, expect, test } from "vitest";
import type { RunRequest } from "../../../src/assistant/runs/run-request.ts";
import { asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const store = storeOfFile();
const REQUEST: RunRequest = {
  agentId: "main",
  message: "hello",
  sessionId: null,
  model: null,
  thinkingMode: null,
  contract: {},
  approvedTools: [],
  source: "test",
  principal: "tester",
  idempotencyKey: null,
};

describe("a request", () => {
  test("that cannot be met is refused with a code and a reason, and nothing is stored", async () => {
    const trial = openTrial({ store: store(), model: scriptedModel(() => says("hi")), world: outsideWorld() });
    const refusals: readonly (readonly [Partial<RunRequest>, string, RegExp])[] = [
      [{ message: "  \n" }, "invalid.request", /message is required/],
      [{ message: "a\uD800b" }, "invalid.request", /well-formed/],
      [{ message: "é".repeat(524_289) }, "payload.too_large", /1048578 bytes/],
      [{ agentId: "nobody" }, "not_found", /^there is no such agent$/],
      [{ sessionId: asSessionId("session_none") }, "not_found", /^there is no such session;(?!.*session_none)/],
      [{ contract: { maxInferences: 0.5 } }, "invalid.request", /max_inferences/],
      [{ contract: { totalTimeoutMs: Number.MAX_SAFE_INTEGER } }, "invalid.request", /total_timeout_ms/],
    ];
    for (const [also, code, message] of refusals) {
      expect(await trial.assistant.submit({ ...REQUEST, ...also })).toEqual({
        ok: false,
        code,
        message: expect.stringMatching(message),
      });
    }
    expect(await store().listRuns({ limit: 1, offset: 0 })).toMatchObject({ total: 0 });
    expect(await store().ledgerHead()).toMatchObject({ seq: 0 });
    expect(await trial.assistant.submit({ ...REQUEST, agentId: "agent_default" })).toMatchObject({ ok: true });
    await trial.stop();
  });

  verifies("P-5.4", "has secrets taken out before it is stored or shown to a model", async () => {
    const key = `sk-proj-${"Ab1".repeat(16)}`;
    const model = scriptedModel(() => says("noted"));
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit(`my key is ${key}`);
    await trial.ended(runId);
    const run = await store().findRun(runId);
    const { messageRef } = JSON.parse(run?.accepted ?? "{}").event;
    const stored = (await store().readBodies(asSessionId(run?.sessionId ?? ""), [messageRef], null)).get(
      messageRef,
    )?.text;
    expect(stored).toMatch(/^my key is /);
    for (const text of [stored, JSON.stringify(model.requests)]) expect(text).not.toContain(key);
    await trial.stop();
  });
});
