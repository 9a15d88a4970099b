/**
 * The authoritative edges (M-5): the seed's path, plus: any state that fails goes to COMMIT, and OBSERVE goes back to
 * EXECUTE for the next call of the batch. TERMINATE is entered from COMMIT only, so every run is accounted for.
 */
import type { MachineState } from "../journal/entry.ts";

const EDGES: Readonly<Record<MachineState, readonly MachineState[]>> = {
  PRECHECK: ["INFER", "COMMIT"],
  INFER: ["VALIDATE_CALLS", "COMMIT"],
  VALIDATE_CALLS: ["EXECUTE", "COMMIT"],
  EXECUTE: ["OBSERVE", "COMMIT"],
  OBSERVE: ["EXECUTE", "COMMIT"],
  COMMIT: ["INFER", "TERMINATE"],
  TERMINATE: [],
};

export function isEdge(from: MachineState, to: MachineState): boolean {
  return EDGES[from].includes(to);
}
