/** What a run acts on is what the contract's protocol adapter made of the model's output, and nothing else (M-A). */
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { adapterFor } from "../../../src/kernel/protocol/adapter-for.ts";
import type { RawModelOutput } from "../../../src/kernel/protocol/raw-model-output.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile } from "../trial/open-trial.ts";
import { outsideWorld } from "../trial/outside-world.ts";
import { inTurns, says, scriptedModel } from "../trial/scripted-model.ts";

const store = storeOfFile();
const SOURCE = new URL("../../../src/", import.meta.url);

/** Mostly what a sound model writes: one fault is enough to have a whole output refused. */
const mostly = <T>(sound: readonly T[], faulty: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...sound) }, { weight: 1, arbitrary: fc.constantFrom(...faulty) });
const anyId = mostly(["call_1", "call_2", "call_3"], ["", "not an id", null]);
const anyArguments = mostly(['{"thing":"a"}', '{"thing":"b"}', "{}"], ["", "[]", '{"thing":', "null"]);
const anyTool = mostly(["look.at"], ["door.open", "no.such", ""]);
const anyCall = fc.record({ id: anyId, tool: anyTool, args: anyArguments });
const anyNative = anyCall.map(({ id, tool, args }) => ({ id, name: tool.replace(".", "__"), argumentsText: args }));
const anyBlock = fc.array(anyCall, { maxLength: 2 }).map((calls) => {
  const written = calls.map(({ id, tool, args }) => `{"id":${JSON.stringify(id)},"tool":"${tool}","args":${args}}`);
  return `<<<TOOL_CALLS_JSON>>>[${written.join(",")}]<<<END_TOOL_CALLS_JSON>>>`;
});
const anyRaw: fc.Arbitrary<RawModelOutput> = fc.record({
  content: fc.oneof(anyBlock, mostly(["I will look.", ""], ["<<<TOOL_CALLS_JSON>>>"])),
  toolCalls: fc.array(anyNative, { maxLength: 2 }),
  stopReason: mostly(["stop", "tool_calls"], ["length", ""]),
  model: fc.constant("raw-1"),
  complete: mostly([true], [false]),
});

const PROFILES = [
  { id: "native-tools", adapterVersion: "native-tools@2" },
  { id: "marker-json", adapterVersion: "marker-json@2" },
];

describe("a run", () => {
  for (const { id, adapterVersion } of PROFILES) {
    verifies(
      ["M-A/boundary", "M-P2a/transcript"],
      `under ${id} records, plans and performs what its adapter read, whatever the model sent`,
      async () => {
        let executed = 0;
        let refused = 0;
        await fc.assert(
          fc.asyncProperty(anyRaw, async (raw) => {
            const world = outsideWorld("at once");
            const stream = { chunks: 1, firstMs: 1, lastMs: 2 };
            const model = scriptedModel(inTurns({ ok: true, raw, usage: null, stream }, says("done")), {
              profile: { id, adapterVersion, supportsTools: true, holdsRequired: true, grammarProfiles: [] },
            });
            const trial = openTrial({ store: store(), model, world, isReachable: false });
            const runId = await trial.submit("go on", { contract: { maxFormatRetries: 0 } });
            await trial.ended(runId);
            const entries = await trial.entries(runId);
            await trial.stop();
            const adapted = adapterFor(adapterVersion)?.adapt(raw, "lenient");
            const message = adapted?.canonicalMessage ?? null;
            const [first] = entries.flatMap((entry) => (entry.kind === "INFER" ? [entry] : []));
            const answer = first?.result?.type === "model.answered" ? first.result : null;
            const decisions = entries.filter(
              (entry) => entry.kind === "INFER" && entry.result?.type === "model.answered",
            );
            expect(decisions).toHaveLength(model.requests.length);
            expect(answer?.rawHash).toBe(adapted?.rawHash);
            expect(answer?.adapter).toEqual({
              status: adapted?.status,
              failureCode: adapted?.failureCode,
              version: adapterVersion,
            });
            const read = message?.toolCalls.map((call) => ({ id: call.id, tool: call.name })) ?? [];
            expect(answer?.calls.map(({ callId, tool }) => ({ id: callId, tool }))).toEqual(read);
            const known = message?.toolCalls.filter(({ name }) => name === "look.at") ?? [];
            // Identical reads of one batch share an execution.
            expect(
              world.performed.every(({ tool, args }) =>
                known.some((call) => call.name === tool && call.arguments["thing"] === args["thing"]),
              ),
            ).toBe(true);
            expect(world.performed.length > 0).toBe(known.length > 0);
            if (message === null) expect(entries.map(({ kind }) => kind)).not.toContain("EXECUTE");
            executed += world.performed.length;
            refused += message === null ? 1 : 0;
          }),
          { numRuns: 60 },
        );
        expect(executed).toBeGreaterThan(5);
        expect(refused).toBeGreaterThan(5);
      },
    );
  }
});

verifies(
  "M-A/source",
  "raw model output is read by model backends, protocol adapters, the code that joins them, LLMClient and the output summarizer alone",
  () => {
    const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    const readsRaw = /raw-model-output\.ts"|\breply\.raw\b|\{ raw\b[^}]*\} = reply/;
    const readers = files.filter((name) => readsRaw.test(readFileSync(new URL(name, SOURCE), "utf8")));
    const isBackend = (name: string): boolean =>
      name.startsWith("adapters/models/") || name.endsWith("/declared-abilities.ts");
    const others = readers.filter((name) => !isBackend(name) && !name.startsWith("kernel/protocol/"));
    expect(others.toSorted()).toEqual([
      "runtime/model/call-model.ts",
      "runtime/model/llm-client.ts",
      "runtime/ports/model-backend.ts",
      // Its text becomes an excerpt of a tool's output: data, never read for calls.
      "runtime/tools/summarize-output.ts",
    ]);
  },
);
