/** Events that pass for their schema and that no entry could hold: the run ends by name, and nothing is thrown, then or later. */
import { expect } from "vitest";
import type { RunEvent } from "../../../src/kernel/journal/event.ts";
import { verifies } from "../../requirements.ts";
import { answered, begin, contractOf, outcomeOf, play } from "./scripted-run.ts";

const [accepted, ...checked] = begin() as readonly [RunEvent, ...RunEvent[]];
const WITH_A_HOLE: string[] = [];
WITH_A_HOLE[1] = "fs.read_text";

verifies("M-5", "what cannot be written down is not heard: the run ends by name", () => {
  const { tools } = accepted as Extract<RunEvent, { type: "run.accepted" }>;
  const unwritable: readonly (readonly RunEvent[])[] = [
    [{ ...accepted, routing: undefined } as never, ...checked],
    [{ ...accepted, media: undefined } as never, ...checked],
    [{ ...accepted, tools: { ...tools, names: WITH_A_HOLE } } as never, ...checked],
    [...begin(), { ...answered(1, {}), usage: { inputTokens: 1e308, outputTokens: 1e308, costMicrousd: 0 } }],
    [...begin(), { ...answered(1, {}), stopReason: "half \ud800" }],
  ];
  for (const events of unwritable) {
    expect(outcomeOf(play(contractOf(), events))).toBe("FAILED_CONTRACT_VIOLATION defect");
  }
});
