import { expect, test } from "vitest";
import { MACHINE_VERSION } from "../../../src/kernel/contract/contract.ts";
import { hasChange, MACHINE_CHANGES, type MachineChange } from "../../../src/kernel/machine/changes.ts";

const CHANGES = Object.keys(MACHINE_CHANGES) as readonly MachineChange[];

test("every machine version after the first is explained by at least one change", () => {
  const versions = new Set<number>(CHANGES.map((change) => MACHINE_CHANGES[change].since));
  expect([...versions].sort((a, b) => a - b)).toEqual(Array.from({ length: MACHINE_VERSION - 1 }, (_, n) => n + 2));
  for (const change of CHANGES) expect(MACHINE_CHANGES[change].reason.length).toBeGreaterThan(40);
});

test("a run has the changes of the version its contract names, and no later ones", () => {
  for (const change of CHANGES) {
    const { since } = MACHINE_CHANGES[change];
    expect([since - 1, since, since + 1].map((machineVersion) => hasChange({ machineVersion }, change))).toEqual([
      false,
      true,
      true,
    ]);
  }
});
