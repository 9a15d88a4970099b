/** Governance on a whole home: a scripted model that needs a mutation, what it leaves behind, and an operator's commands. */
import { writeFile } from "node:fs/promises";
import { expect, onTestFinished } from "vitest";
import type { RunRequest } from "../../src/assistant/runs/run-request.ts";
import { openHome } from "../../src/boot/home.ts";
import { main } from "../../src/boot/main.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { NEUTRAL_STATE } from "../../src/kernel/governance/policy-state.ts";
import { asRunId, type RunId } from "../../src/kernel/vocabulary/identifiers.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import { answer, type ServerScript, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { readOk } from "./config/example-config.ts";
import { replayAfterChanges } from "./governance-campaign.ts";
import { temporaryHome } from "./temporary-home.ts";

/** A limit in dollars leaves an answer 6,250 tokens; the model needs 8,000 to write its call. */
const MODEL = { contextWindow: 100_000, maxOutputTokens: 20_000, costPer1kInput: 0.001, costPer1kOutput: 0.01 };
const NEEDED = 8_000;
const needsRoom: ServerScript = ({ body: { messages, max_tokens = 0 } }) => {
  if (messages.some(({ role }) => role === "tool")) return answer({ text: "There are no files." });
  const isRetry = messages.at(-1)?.["content"] !== "list files";
  const finishReason = max_tokens < NEEDED && !isRetry ? "length" : null;
  return answer({ calls: [{ name: "fs.list_dir", arguments: {} }], ...(finishReason && { finishReason }) });
};

const REQUEST: RunRequest = {
  ...{ agentId: "main", sessionId: null, model: null, thinkingMode: null, contract: {}, approvedTools: [] },
  ...{ source: "test", principal: "operator", idempotencyKey: null, message: "list files" },
};
const QUICK = { enabled: true, warmupRuns: 6, windowRuns: 4, freezeRuns: 5 };

async function homeWith(script: ServerScript, governance: object = QUICK) {
  const server = await startOpenAiServer(script);
  onTestFinished(() => server.close());
  const home = await temporaryHome();
  await openHome(home);
  const providers = { loop: { baseUrl: server.baseUrl, local: true, models: { m: MODEL } } };
  const text = JSON.stringify({ models: { default: "loop:m", providers }, budgets: { perDayUsd: 1 }, governance });
  await writeFile(home.configFile, text);
  const open = () =>
    openSurety({
      ...{ home, clock: systemClock, random: systemRandomness, token: null, approver: noApprover, workers: 4 },
      ...{ config: readOk(text), readVariable: () => undefined, onDefect: (_id, error) => defects.push(error) },
    });
  const defects: unknown[] = [];
  /** So many runs; what has ended is measured when the home is closed. */
  const work = async (runs: number) => {
    const surety = await open();
    const ended: { readonly id: RunId; readonly retries: number; readonly contract: Record<string, unknown> }[] = [];
    for (let run = 0; run < runs; run += 1) {
      const submitted = await surety.assistant.submit(REQUEST);
      if (!submitted.ok) throw new Error(submitted.message);
      const updates = (await surety.assistant.watch(submitted.runId, 0, new AbortController().signal)) ?? [];
      for await (const _ of updates);
      const stored = await surety.store.findRun(submitted.runId);
      const lines = await surety.store.readEntries(submitted.runId, 0, 100);
      const retries = lines.filter((line) => line.includes('"mode":"repair"')).length;
      ended.push({ id: submitted.runId, retries, contract: JSON.parse(stored?.contract ?? "{}") });
    }
    await surety.close(1000);
    expect(defects).toEqual([]);
    return ended;
  };
  const command = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", home.directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const json = async (...words: readonly string[]) => JSON.parse((await command(...words, "--json")).stdout);
  return { server, home, open, work, command, json };
}

verifies(
  ["M-P4d/run", "M-P4h/contract", "M-P4c/parameters"],
  "a mutation lowers the retries of a model that needs it, and is kept; each contract records its state",
  async () => {
    const { work, json, command } = await homeWith(needsRoom);
    const before = await work(6);
    expect(before.map(({ retries }) => retries)).toEqual([1, 1, 1, 1, 1, 1]);
    const neutral = {
      retry_tolerance: 1,
      step_limit_multiplier: 1,
      autonomy_bias: 0,
      verbosity_bias: 0,
      critique_enabled: false,
    };
    expect(before.map(({ contract }) => contract["policy_state"])).toEqual(before.map(() => neutral));
    const after = await work(4);
    expect(after.map(({ retries }) => retries)).toEqual([0, 0, 0, 0]);
    expect(after[0]?.contract).toMatchObject({
      policy_state: { ...neutral, verbosity_bias: 1 },
      max_output_tokens: 9_375,
    });

    const { changes } = await json("governance", "history");
    expect(changes).toMatchObject([
      { cause: "kept", run_id: after[3]?.id },
      {
        cause: "mutation",
        run_id: before[5]?.id,
        before: neutral,
        after: { ...neutral, verbosity_bias: 1 },
        proposal: { parameter: "verbosity_bias", direction: 1, aim: "retry_count", signal: "answer-cut-off" },
      },
    ]);
    expect((await command("governance", "show", "--tier", "mid")).stdout).toMatch(/mid +1 +× 1 +any +× 1.5 +off +10 /u);
    expect((await command("verify", "--home")).code).toBe(0);
  },
);

verifies("M-P4h/replay", "earlier runs keep their contracts and replay as they were after many changes", async () => {
  expect(await replayAfterChanges(8, 40)).toEqual({ runs: 8, changes: 40, ledgerEntries: 40, differences: [] });
});

verifies("M-P4d/after", "what follows from a measured run follows after a crash in between, once", async () => {
  const { open, json, work } = await homeWith(needsRoom);
  await work(1);
  const surety = await open();
  const measured = JSON.stringify({
    ...{ dominance: "GREEN", signals: [] },
    vector: {
      ...{ protocolCompliance: 1, retryCount: 0, budgetEfficiency: 1, duplicateCallRatio: 0 },
      ...{ anomalyIgnoredCount: 0, hardFailures: 0 },
    },
  });
  const { seq } = await surety.store.ledgerHead();
  const state = JSON.stringify(NEUTRAL_STATE);
  const performance = {
    runId: asRunId("run_cut_off"),
    tier: "mid",
    endedAt: "2026-11-19T00:00:00.000Z",
    measured,
    state,
  } as const;
  await surety.store.commit([{ type: "record-performance", ledgerSeq: seq, performance }], "barrier");
  await surety.close(1000);
  for (const _ of ["read by this process", "and by the next"]) {
    const { tiers } = await json("governance", "show", "--tier", "mid");
    expect(tiers[0]).toMatchObject({ runs: 2, averages: { runs: 2 } });
  }
});

verifies(
  "M-P4g/freeze",
  "an operator freezes, thaws and rolls back by command; where it is off that is refused",
  async () => {
    const { json, command } = await homeWith(needsRoom);
    expect((await json("governance", "freeze", "--tier", "mid", "--runs", "9")).frozen_runs).toBe(9);
    expect((await command("governance", "freeze", "--tier", "mid", "--runs", "0")).stdout).toContain("not frozen");
    expect((await json("governance", "rollback", "--tier", "mid")).frozen_runs).toBe(5);
    const { changes } = await json("governance", "history");
    expect(changes.map(({ cause, by, run_id }: Record<string, unknown>) => [cause, by, run_id])).toEqual([
      ["operator", "operator", null],
      ["operator", "operator", null],
      ["operator", "operator", null],
    ]);
    expect((await command("governance", "freeze")).code).toBe(2);
    const off = await homeWith(needsRoom, { enabled: false });
    expect((await off.command("governance", "show")).stdout).toContain("governance is off");
    const refused = await off.command("governance", "rollback", "--tier", "mid");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("governance is off")]);
    const [run] = await off.work(1);
    const surety = await off.open();
    expect(await surety.store.measuredThrough()).toBeNull();
    await surety.close(1000);
    expect(run?.contract["policy_state"]).toBeNull();
  },
);

/** It says nothing of the file that is not there, until it reviews what it said. */
const hidesFailures: ServerScript = ({ body: { messages } }) => {
  if (!messages.some(({ role }) => role === "tool")) {
    return answer({ calls: [{ name: "fs.read_text", arguments: { path: "gone.txt" } }] });
  }
  const isReview = String(messages.at(-1)?.["content"]).startsWith("Review your last answer");
  return answer({
    text: isReview ? "gone.txt does not exist, so I could not read it." : "All is well with your notes.",
  });
};

verifies(
  ["M-P4c/gate", "M-P4c/parameters", "M-P4b/anomaly"],
  "answers that hide failures get a review; the draft reaches no one, and the corrected answer is the answer",
  async () => {
    const { work, json, open, command } = await homeWith(hidesFailures);
    await work(6);
    const { changes } = await json("governance", "history");
    expect(changes).toMatchObject([{ cause: "critique", after: { critique_enabled: true } }]);
    const [reviewed] = await work(1);
    expect(reviewed?.contract).toMatchObject({ policy_state: { critique_enabled: true }, max_inferences: 11 });
    const surety = await open();
    const submitted = await surety.assistant.submit(REQUEST);
    if (!submitted.ok) throw new Error(submitted.message);
    const seen: string[] = [];
    const updates = (await surety.assistant.watch(submitted.runId, 0, new AbortController().signal)) ?? [];
    for await (const update of updates) seen.push(JSON.stringify(update));
    expect(seen.join()).not.toContain("All is well");
    const record = await surety.assistant.run(submitted.runId);
    expect(record?.output).toBe("gone.txt does not exist, so I could not read it.");
    await surety.close(1000);
    const { stdout, stderr } = await command("run", "list files");
    expect(stdout).toBe("gone.txt does not exist, so I could not read it.\n");
    expect(stderr).not.toContain("All is well");
  },
);
