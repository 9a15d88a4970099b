/**
 * A defect is an impossible state in our own code, the one thing the kernel throws.
 * `machine/step.ts` catches it in one place and ends the run FAILED_CONTRACT_VIOLATION, reason `defect`.
 */
export class Defect extends Error {
  override readonly name = "Defect";
}

export function unreachable(value: never, what: string): never {
  throw new Defect(`unreachable ${what}: ${String(value)}`);
}
