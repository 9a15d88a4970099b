import type { MachineState } from "../../../../src/kernel/journal/entry.ts";

// Not the kernel's own list, which brings its schemas along.
const ORDER: Readonly<Record<MachineState, number>> = {
  PRECHECK: 0,
  INFER: 1,
  VALIDATE_CALLS: 2,
  EXECUTE: 3,
  OBSERVE: 4,
  COMMIT: 5,
  TERMINATE: 6,
};

export const STATES = Object.keys(ORDER) as readonly MachineState[];
