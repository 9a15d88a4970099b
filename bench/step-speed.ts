/**
 * How fast is the bare machine? The time `step()` takes for a run, all its hashing included, as a ratio to hashing the
 * very same bytes alone. Must: at most 10; aim: 5.
 *
 * Both are measured in alternating blocks of one process, so a noisy machine disturbs both alike. The A/A spread is how
 * much the ratio of a measurement to itself strays from 1; a miss counts only beyond it.
 */
import { sha256Hex } from "#sha256";
import { hashTerms } from "../src/kernel/contract/seal-contract.ts";
import type { Entry } from "../src/kernel/journal/entry.ts";
import { ENTRY_FORMAT } from "../src/kernel/journal/entry-encoding.ts";
import { canonicalJson } from "../src/kernel/vocabulary/canonical-json.ts";
import { toWire } from "../src/kernel/vocabulary/wire-case.ts";
import { answered, begin, contractOf, play, toolTurn } from "../test/kernel/machine/scripted-run.ts";
import { median } from "./blocks.ts";
import type { Figure } from "./figure.ts";
import type { Row } from "./row.ts";

const TURNS = 50;
const BLOCKS = 15;
const RUNS_PER_BLOCK = 20;
const MUST = 10;
const AIM = 5;

export const machineSpeed: Figure = { name: "machine", measure: () => Promise.resolve([stepRatio()]) };

const contract = contractOf({
  maxInferences: 1_000,
  maxTokensConsumed: 10_000_000,
  contextBudget: { contextWindow: 1_000_000, reservedSystem: 0, reservedSynthesis: 0, forceSynthesisAtRatio: 1 },
});

function stepRatio(): Row {
  const events = [
    ...begin(),
    ...Array.from({ length: TURNS }, (_, index) =>
      toolTurn(index + 1, { id: "call", tool: "fs.read_text", args: String(index) }),
    ).flat(),
    answered(TURNS + 1, { text: "done" }),
  ];
  const { entries } = play(contract, events);
  const hashed = [...entries.flatMap(bytesUnderHash), ...entries.flatMap(contractBytes)];
  const machine = measure(() => play(contract, events));
  const hashing = measure(() => hashed.forEach(sha256Hex));
  for (let warmUp = 0; warmUp < 3; warmUp += 1) {
    machine();
    hashing();
  }
  const ratios: number[] = [];
  const spreads: number[] = [];
  let machineMs = 0;
  for (let block = 0; block < BLOCKS; block += 1) {
    const stepping = machine();
    const alone = hashing();
    spreads.push(Math.abs(hashing() / alone - 1));
    ratios.push(stepping / alone);
    machineMs += stepping;
  }
  const value = median(ratios);
  const turnMicroseconds = (machineMs * 1000) / (BLOCKS * RUNS_PER_BLOCK * TURNS);
  const stepsPerSecond = (BLOCKS * RUNS_PER_BLOCK * events.length * 1000) / machineMs;
  return {
    name: "step() ÷ hashing the same bytes",
    value,
    spread: value * median(spreads),
    unit: "",
    bound: { is: "at most", must: MUST, aim: AIM },
    note: `${stepsPerSecond.toFixed(0)} steps/s, ${turnMicroseconds.toFixed(0)} µs a tool turn`,
  };
}

function measure(work: () => unknown): () => number {
  return () => {
    const startedAt = performance.now();
    for (let run = 0; run < RUNS_PER_BLOCK; run += 1) work();
    return performance.now() - startedAt;
  };
}

/** The three canonical texts under an entry's hashes. */
function bytesUnderHash(entry: Entry): readonly string[] {
  const { runId, seq, ts, elapsedMs, stepId, kind, actor, labels, decided, result } = entry;
  const action = toWire({ v: ENTRY_FORMAT, runId, seq, ts, elapsedMs, stepId, kind, actor, labels, decided });
  const { prev, contractHash, state, actionHash, resultHash, adapterVersion, modelProfileId, modelFingerprint } = entry;
  const link = [prev, contractHash, state, actionHash, resultHash, adapterVersion, modelProfileId, modelFingerprint];
  return [canonicalJson(action), canonicalJson(toWire(result)), canonicalJson(link)];
}

/** Every COMMIT checks the contract's hash. */
function contractBytes(entry: Entry): readonly string[] {
  const { contractHash, ...terms } = contract;
  if (entry.kind !== "COMMIT") return [];
  const text = canonicalJson(toWire(terms));
  if (sha256Hex(text) !== hashTerms(contract) || hashTerms(contract) !== contractHash) throw new Error("other bytes");
  return [text];
}
