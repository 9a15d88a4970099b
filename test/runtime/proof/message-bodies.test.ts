/** The message bodies in a run's bundle, checked against the schema we publish (M-4.3, M-4.4). */
import { readFileSync } from "node:fs";
import { Compile } from "typebox/compile";
import { expect } from "vitest";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile } from "../trial/open-trial.ts";
import { outsideWorld } from "../trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "../trial/scripted-model.ts";

const store = storeOfFile();
const SCHEMA = new URL("../../../contracts/schemas/agent-message.schema.json", import.meta.url);
const THOUGHTS = { kept: { reasoning_content: "I should look first." }, isSigned: false };

interface Bundle {
  readonly entries: readonly { readonly result: { readonly type?: string; readonly message_ref?: string } | null }[];
  readonly bodies: Readonly<Record<string, { readonly text: string }>>;
}

verifies(
  ["M-4.3/bundle", "M-4.4/bundle"],
  "every assistant message of a bundle is valid under the published schema, with calls and reasoning",
  async () => {
    const batch = calls([
      { id: "call_1", tool: "look.at", args: { thing: "a" } },
      { id: "call_2", tool: "no.such", args: {} },
    ]);
    const model = scriptedModel(inTurns({ ...batch, thoughts: THOUGHTS } as typeof batch, says("done")));
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const runId = await trial.submit("look");
    await trial.ended(runId);
    const bundle = await trial.assistant.bundle(runId);
    await trial.stop();
    const { entries, bodies } = JSON.parse(bundle.ok ? bundle.text : "{}") as Bundle;
    const refs = entries.flatMap(({ result }) => (result?.type === "model.answered" ? [result.message_ref ?? ""] : []));
    const messages = refs.map((ref) => JSON.parse(bodies[ref]?.text ?? "null"));
    const isMessage = Compile(JSON.parse(readFileSync(SCHEMA, "utf8")));
    expect(messages.filter((message) => !isMessage.Check(message))).toEqual([]);
    const invocation = { arguments: { thing: "a" }, id: "call_1", name: "look.at", source_model: "scripted-1" };
    expect(messages).toEqual([
      {
        role: "assistant",
        content: "",
        tool_calls: [
          { ...invocation, raw_payload: { thoughts: THOUGHTS.kept } },
          { ...invocation, arguments: {}, id: "call_2", name: "no.such", raw_payload: null },
        ],
      },
      { role: "assistant", content: "done", tool_calls: [] },
    ]);
  },
);
