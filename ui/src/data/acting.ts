/** Doing something: whether it can be done now, that it is under way, and why it failed. Its effect comes from the record. */
import { useState } from "react";
import { asCallError, type CallError } from "./client.ts";
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

export interface Acting {
  /** Why a button cannot be pressed now. */
  readonly blocked: string | null;
  /** The name of what is under way. */
  readonly busy: string | null;
  /** Of the last try. */
  readonly error: CallError | null;
  /** True if it succeeded. */
  run(name: string, act: () => Promise<unknown>): Promise<boolean>;
}

/** For the buttons of one thing, of which one at a time can be under way. */
export function useActing(): Acting {
  const offline = useBlocked();
  const [busy, setBusy] = useState<string | null>(null);
  const [error, setError] = useState<CallError | null>(null);
  return {
    blocked: offline ?? (busy === null ? null : "Sending…"),
    busy,
    error,
    async run(name, act) {
      setBusy(name);
      setError(null);
      try {
        await act();
        return true;
      } catch (failure) {
        setError(asCallError(failure));
        return false;
      } finally {
        setBusy(null);
      }
    },
  };
}
