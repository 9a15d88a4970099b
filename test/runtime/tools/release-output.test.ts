/** What a tool prints, shown while it works: live, redacted, and only where something partial may be told. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { draftRun } from "../../../src/assistant/runs/draft-run.ts";
import { DEFAULT_POLICY } from "../../../src/kernel/contract/default-terms.ts";
import { sealContract } from "../../../src/kernel/contract/seal-contract.ts";
import { compileRedactor } from "../../../src/kernel/redaction/redact.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { ChannelClass } from "../../../src/kernel/vocabulary/risk.ts";
import type { OutputStream } from "../../../src/runtime/ports/toolbox.ts";
import { releaseOutput, type ToolOutput } from "../../../src/runtime/tools/release-output.ts";
import { openTrial, storeOfFile, type Trial } from "../trial/open-trial.ts";
import { outsideWorld } from "../trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "../trial/scripted-model.ts";

const store = storeOfFile();
const SECRET = "hunter2-hunter2-hunter2";
const call = { step: 2, callId: "call_1" };

function redactor() {
  const verdict = compileRedactor({ secrets: [{ name: "TEST_KEY", value: SECRET }], emails: false, phones: false });
  if (!verdict.ok) throw new Error("the redactor did not compile");
  return verdict.redactor;
}

describe("released output", () => {
  test("is what redaction makes of each stream, however both were cut and mixed", () => {
    const rules = redactor();
    const part = fc.constantFrom("hello ", SECRET, "ü😀", "\n");
    const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
    const cuts = fc.array(fc.tuple(fc.constantFrom<OutputStream>("stdout", "stderr"), fc.integer({ min: 1, max: 9 })));
    fc.assert(
      fc.property(text, text, cuts, (stdout, stderr, order) => {
        const shown: ToolOutput[] = [];
        const release = releaseOutput(call, rules, (output) => shown.push(output));
        const rest = { stdout: [...stdout], stderr: [...stderr] };
        for (const [stream, length] of order) release.push(rest[stream].splice(0, length).join(""), stream);
        for (const stream of ["stdout", "stderr"] as const) release.push(rest[stream].join(""), stream);
        release.finish();
        for (const [stream, whole] of [["stdout", stdout] as const, ["stderr", stderr] as const]) {
          const pieces = shown.filter((output) => output.stream === stream);
          expect(pieces.map((piece) => piece.text).join("")).toBe(rules.redactText(whole).text);
          let offset = 0;
          for (const piece of pieces) {
            expect(piece).toEqual({ ...call, stream, offset, text: piece.text });
            expect(piece.text.isWellFormed()).toBe(true);
            offset += piece.text.length;
          }
        }
      }),
    );
  });
});

describe("a call", () => {
  const look = calls([{ id: "call_1", tool: "look.at", args: { thing: "a" } }]);
  const policy = { ...DEFAULT_POLICY, allow: ["*"], channels: { cli_local: ["*"], external_message: ["*"] } };

  /** A tool that prints where somebody listens, and what a watcher heard of it. */
  async function printing(channelClass: ChannelClass, isWatched: boolean) {
    const world = outsideWorld();
    let isHeard = false;
    world.conduct = (_tool, _args, { onOutput }) => {
      isHeard = onOutput !== null;
      onOutput?.("live-", "stdout");
      onOutput?.("print", "stdout");
      onOutput?.("oh", "stderr");
      return "the result";
    };
    const { promise: watching, resolve: watch } = Promise.withResolvers<void>();
    const { promise: told, resolve: tell } = Promise.withResolvers<void>();
    const model = scriptedModel(async (request, signal) => {
      await watching;
      if (request.messages.some(({ role }) => role === "tool")) tell();
      return inTurns(look, says("done"))(request, signal);
    });
    const trial = openTrial({ store: store(), model, world, policy });
    const runId = await submitOn(trial, channelClass);
    const shown: ToolOutput[] = [];
    const ignore = { entries: () => {}, delta: () => {}, broken: () => {} };
    if (isWatched) trial.runtime.watch(runId, { ...ignore, output: (output) => shown.push(output) });
    watch();
    // Only then may its end be watched for: that is watching, too.
    await told;
    await trial.ended(runId);
    const entries = await trial.entries(runId);
    const results = (await trial.assistant.run(runId))?.trace.tool_execution_results;
    await trial.stop();
    return { shown, isHeard, recorded: JSON.stringify([entries, results]) };
  }

  async function submitOn(trial: Trial, channelClass: ChannelClass): Promise<RunId> {
    const drafted = await draftRun(trial.drafting, {
      ...{ agentId: "main", message: "look", sessionId: null, model: null, thinkingMode: null, contract: {} },
      ...{ approvedTools: [], source: "test", principal: "tester", idempotencyKey: null },
    });
    if (!drafted.ok) throw new Error(drafted.message);
    const { contractHash: _, ...terms } = drafted.draft.contract;
    const submitted = await trial.runtime.submit({
      ...drafted.draft,
      contract: sealContract({ policyState: null, outputSchema: null, ...terms, version: "2.3", channelClass }),
    });
    if (!submitted.ok) throw new Error(submitted.message);
    return submitted.runId;
  }

  test("that is watched shows what it prints; of that nothing is recorded", async () => {
    const { shown, recorded } = await printing("cli_local", true);
    const whole = (stream: OutputStream) => shown.flatMap((output) => (output.stream === stream ? [output.text] : []));
    expect([whole("stdout").join(""), whole("stderr").join("")]).toEqual(["live-print", "oh"]);
    expect(shown[0]).toMatchObject({ step: 1, callId: "call_1", stream: "stdout", offset: 0 });
    expect(recorded).toContain("the result");
    expect(recorded).not.toContain("live-");
  });

  test("tells nothing partial for a channel outside", async () => {
    expect(await printing("external_message", true)).toMatchObject({ shown: [], isHeard: false });
  });

  test("is heard on a local channel before anybody watches, so that a late watcher gets the rest", async () => {
    expect(await printing("cli_local", false)).toMatchObject({ shown: [], isHeard: true });
  });
});
