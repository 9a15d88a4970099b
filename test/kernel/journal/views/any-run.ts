/** Any well-formed run: some turns, then one of the ways a run can end. */
import fc from "fast-check";
import { CALL_ENDS } from "./canned-events.ts";
import { type CallScript, RUN_ENDS, TOOLS, type TurnScript } from "./run-script.ts";
import { type Run, writeRun } from "./write-run.ts";

const anyCall: fc.Arbitrary<CallScript> = fc.record({
  tool: fc.constantFrom(...TOOLS),
  arg: fc.nat(2),
  decision: fc.constantFrom("allow", "allow", "approve", "deny", "deny-by-user"),
  end: fc.constantFrom(...CALL_ENDS),
  shares: fc.boolean(),
});

const anyTurn: fc.Arbitrary<TurnScript> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom<TurnScript>({ kind: "rejected" }, { kind: "unreachable" }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("calls" as const),
      calls: fc.array(anyCall, { minLength: 1, maxLength: 4 }),
      overlaps: fc.boolean(),
      says: fc.boolean(),
    }),
  },
);

export const anyRun: fc.Arbitrary<Run> = fc
  .tuple(fc.array(anyTurn, { maxLength: 4 }), fc.constantFrom(...RUN_ENDS))
  .map(([turns, end]) => writeRun(turns, end));
