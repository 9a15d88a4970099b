/**
 * A conversation that its client keeps and sends with each message, as other assistants' interfaces do.
 *
 * U1. The client's instructions come after the prompts of base, agent and channel; all of it is the client's word, the
 *     assistant's earlier answers included, so its markers are escaped.
 * U2. Nothing of it is cut: what does not fit the model's window is refused by preflight.
 */
import { escapeMarkers } from "../../kernel/protocol/escape-markers.ts";
import type { BodyRef } from "../../kernel/vocabulary/identifiers.ts";
import type { SuppliedRefs } from "../../runtime/run/acceptance.ts";
import type { SuppliedContext } from "../runs/run-request.ts";

export interface SuppliedTexts {
  readonly instructions: SuppliedText | null;
  readonly history: readonly (SuppliedText & { readonly role: "user" | "assistant" })[];
}

interface SuppliedText {
  readonly ref: BodyRef;
  readonly text: string;
}

export function keepSupplied(
  { instructions, history }: SuppliedContext,
  keep: (text: string) => BodyRef,
): SuppliedRefs {
  const kept = (text: string): BodyRef => keep(escapeMarkers(text));
  return {
    instructions: instructions === null ? null : kept(instructions),
    history: history.map(({ role, content }) => ({ role, ref: kept(content) })),
  };
}

export function suppliedTexts(
  supplied: SuppliedRefs | null,
  read: (ref: BodyRef) => string | null,
): SuppliedTexts | null {
  if (supplied === null) return null;
  const { instructions, history } = supplied;
  return {
    instructions: instructions === null ? null : { ref: instructions, text: read(instructions) ?? "" },
    history: history.map(({ role, ref }) => ({ role, ref, text: read(ref) ?? "" })),
  };
}
