import { connection } from "./feed.ts";
import { useSignal } from "./signal.ts";

/** Why nothing can be done now; null when it can. What is shown may be old then, and nobody should decide on it. */
export function useBlocked(): string | null {
  const { state } = useSignal(connection);
  if (state === "live") return null;
  return state === "lost"
    ? "The gateway cannot be reached. What is shown may be old, so nothing can be done until it answers."
    : "Connecting to the gateway.";
}
