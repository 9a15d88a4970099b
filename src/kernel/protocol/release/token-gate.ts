/**
 * The token gate (M-F): under `required` + token_gate a run says nothing before a tool call of it was validated.
 *
 * G1. What arrives while the gate is closed is dropped, never queued: it was said before there was anything to say.
 * G2. A gate opens once and stays open.
 */
import type { Transducer } from "../../vocabulary/transducer.ts";

export type GatePosition = "open" | "closed";
/** Text, or the news that a tool call was validated. */
export type GateInput = string | { readonly kind: "open" };

/** `initially` is where the run's gate stands: "closed" under `required` + token_gate, else "open". */
export function tokenGate(initially: GatePosition): Transducer<GateInput, string, GatePosition> {
  return {
    start: () => initially,
    push(position, input) {
      if (typeof input !== "string") return ["open", ""];
      return [position, position === "open" ? input : ""];
    },
    finish: () => "",
  };
}
