import type { AnswerOf } from "../../data/client.ts";
import { useRecord } from "../../data/records.ts";

type Listed = Exclude<AnswerOf<"capabilities.list">, { readonly details: unknown }>;
export type Held = Extract<Listed, { readonly pending: unknown }>["pending"][number];

export const PENDING = { state: "pending", limit: 500 } as const;
export const GRANTED = { state: "granted", limit: 500 } as const;

export function useHeld(input: typeof PENDING | typeof GRANTED) {
  const { value, error } = useRecord("capabilities.list", input);
  return { held: value === undefined ? undefined : heldIn(value as Listed), error };
}

function heldIn(listed: Listed): readonly Held[] {
  return "pending" in listed ? listed.pending : listed.granted;
}
