/** Two requests under one key: the same or not, and nothing of either to be read from the disk. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { idempotencyOf, type RunRequest } from "../../../src/assistant/runs/run-request.ts";
import { asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { temporaryHome } from "../../adapters/store-sqlite/temporary-home.ts";
import { openTrial } from "../../runtime/trial/open-trial.ts";
import { outsideWorld } from "../../runtime/trial/outside-world.ts";
import { says, scriptedModel } from "../../runtime/trial/scripted-model.ts";

const REQUEST: RunRequest = {
  agentId: "main",
  message: "hello",
  sessionId: null,
  model: null,
  thinkingMode: null,
  contract: { maxInferences: 3, tokenGate: true },
  approvedTools: ["note.put"],
  source: "http",
  principal: "operator",
  idempotencyKey: "a key",
};

test("a request is the same by whichever door it came and in whichever order its terms stand", () => {
  const contract = { tokenGate: true, maxInferences: 3 };
  expect(idempotencyOf({ ...REQUEST, contract, source: "cli" })).toEqual(idempotencyOf(REQUEST));
  expect(idempotencyOf({ ...REQUEST, idempotencyKey: null })).toBeNull();
});

test("whatever else differs makes another request of it, valid or not", () => {
  const others: readonly Partial<RunRequest>[] = [
    { agentId: "other" },
    { message: "hallo" },
    { message: "a\uD800b" },
    { sessionId: asSessionId("session_1") },
    { model: "some:model" },
    { thinkingMode: "always" },
    { thinkingLevel: "low" },
    { contract: { maxInferences: 4, tokenGate: true } },
    { contract: { maxInferences: Number.NaN } },
    { approvedTools: [] },
    { principal: "somebody else" },
    { idempotencyKey: "another key" },
  ];
  const hashes = [{}, ...others].map((also) => idempotencyOf({ ...REQUEST, ...also })?.requestHash);
  expect(new Set(hashes).size).toBe(others.length + 1);
});

test("the key is nowhere on the disk", async () => {
  const home = temporaryHome();
  const idempotencyKey = "a-key-that-nobody-must-read";
  const model = scriptedModel(() => says("done"));
  const trial = openTrial({ store: await home.open(), model, world: outsideWorld() });
  const runId = await trial.submit("readable on the disk", { idempotencyKey });
  await trial.ended(runId);
  expect(await trial.submit("readable on the disk", { idempotencyKey })).toBe(runId);
  await trial.stop();
  await trial.store.close();
  const files = readdirSync(home.home).map((name) => readFileSync(join(home.home, name), "latin1"));
  expect(files.some((text) => text.includes("readable on the disk"))).toBe(true);
  expect(files.some((text) => text.includes(idempotencyKey))).toBe(false);
  await home.dispose();
});
