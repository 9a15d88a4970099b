/** The instruction a model gets for one inference of a mode: recovery, repair, synthesis. */
import { describe, expect } from "vitest";
import type { InferMode } from "../../../src/kernel/journal/entry.ts";
import type { Toolbox } from "../../../src/runtime/ports/toolbox.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile, type Wanted } from "../trial/open-trial.ts";
import { type OutsideWorld, outsideWorld } from "../trial/outside-world.ts";
import { babbles, calls, inTurns, isRepair, type ModelScript, says, scriptedModel } from "../trial/scripted-model.ts";

const store = storeOfFile();
const look = (turn: number) => calls([{ id: `call_${turn}`, tool: "look.at", args: { thing: `${turn}` } }]);

/** By inference, the mode its INFER entry records and the system messages the model got after the conversation began. */
async function inferences(script: ModelScript, world: OutsideWorld, wanted: Wanted = {}) {
  const model = scriptedModel(script);
  const trial = openTrial({ store: store(), model, world });
  const runId = await trial.submit("look", wanted);
  const { outcome } = await trial.ended(runId);
  const modes = (await trial.entries(runId)).flatMap((entry) => (entry.kind === "INFER" ? [entry.decided.mode] : []));
  await trial.stop();
  const requests = model.requests.map(({ request }) => request);
  return {
    outcome,
    modes,
    offered: requests.map(({ tools }) => tools.length > 0),
    // Without the prompts of base and channel.
    notes: requests.map(({ messages }) =>
      messages.slice(2).flatMap(({ role, content }) => (role === "system" ? [content] : [])),
    ),
    last: requests.map(({ messages }) => messages.at(-1)?.role),
  };
}

/** Its first calls fail. */
function failingAtFirst(failures: number): OutsideWorld {
  const world = outsideWorld();
  const run: Toolbox["run"] = async (planned, context) => {
    const response = await world.toolbox.run(planned, context);
    if (world.performed.length > failures) return response;
    const error = { code: "internal.error", message: "The thing is stuck.", retryable: false, details: {} };
    return { ...(response as object), ok: false, output: undefined, error };
  };
  return { ...world, toolbox: { ...world.toolbox, run } };
}

describe("the model is instructed", () => {
  verifies(
    ["O-2.2/mode", "O-2.2/instruction"],
    "to change its approach in the turn after two failing results, and in no other turn",
    async () => {
      const run = await inferences(inTurns(look(1), look(2), look(3), look(4), says("done")), failingAtFirst(2));
      expect(run.outcome).toBe("COMPLETED_WITH_TOOLS");
      expect(run.modes).toEqual<InferMode[]>(["normal", "normal", "recovery", "recovery", "normal"]);
      expect(run.notes.map((notes) => notes.length)).toEqual([0, 0, 1, 1, 0]);
      expect(run.last[2]).toBe("system");
      expect(run.notes[2]?.[0]).toMatch(/failed/);
      expect(run.notes[2]?.[0]).toMatch(/do not repeat/i);
    },
  );

  verifies(
    "M-P2b/ladder",
    "to answer again in the required form after an answer that cannot be read, once",
    async () => {
      const script = inTurns((request) => (isRepair(request) ? look(1) : babbles()), says("done"));
      const run = await inferences(script, outsideWorld());
      expect(run.outcome).toBe("COMPLETED_WITH_TOOLS");
      expect(run.modes).toEqual<InferMode[]>(["normal", "repair", "normal"]);
      expect(run.notes.map((notes) => notes.length)).toEqual([0, 1, 0]);
      expect(run.last[1]).toBe("system");
      expect(run.notes[1]?.[0]).toMatch(/again.*form/i);
    },
  );

  verifies("M-P3/synthesis", "to close without tools when its context is nearly full", async () => {
    const world = outsideWorld();
    world.conduct = () => "all work and no play makes Jack a dull boy. ".repeat(400);
    const script: ModelScript = (request, signal) =>
      request.tools.length === 0 ? says("in short") : inTurns(look(1), look(2), look(3), look(4))(request, signal);
    const run = await inferences(script, world, {
      // The last result alone is too much, so cutting earlier ones makes no room.
      contract: { contextBudget: { forceSynthesisAtRatio: 0.05 } },
    });
    expect(run.outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(run.modes.at(-1)).toBe<InferMode>("synthesis");
    expect(run.offered).toEqual(run.modes.map((mode) => mode !== "synthesis"));
    expect(run.last.at(-1)).toBe("system");
    expect(run.notes.at(-1)?.[0]).toMatch(/answer now/i);
    expect(run.notes.slice(0, -1).flat()).toEqual([]);
  });
});
