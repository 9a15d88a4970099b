/**
 * A run as this page has verified it: its entries are read and checked at once, and again from where they ended whenever the
 * feed rings for the run.
 */
import { useCallback, useEffect, useState } from "react";
import { asCallError, type CallError } from "../data/client.ts";
import { connection, onRing } from "../data/feed.ts";
import type { EntryRow } from "./entry-row.ts";
import type { Checked } from "./run-verification.ts";
import { askVerifier } from "./verifier.ts";
import { freshKey, readPages } from "./verify-run.ts";

export interface VerifiedRun {
  /** For `askVerifier` about single entries. */
  readonly key: string;
  /** Null until the first page is checked. */
  readonly checked: Omit<Checked, "rows" | "from"> | null;
  readonly rows: readonly EntryRow[];
  readonly isChecking: boolean;
  /** Of all pages together. */
  readonly tookMs: number;
  readonly error: CallError | null;
  /** From the first entry on. */
  readonly verifyAgain: () => void;
}

type State = Omit<VerifiedRun, "verifyAgain"> & { readonly runId: string };

function started(runId: string, key = ""): State {
  return { runId, key, checked: null, rows: [], isChecking: true, tookMs: 0, error: null };
}

export function useVerifiedRun(runId: string): VerifiedRun {
  const [state, setState] = useState(() => started(runId));
  const [round, setRound] = useState(0);
  useEffect(() => follow(runId, round, setState), [runId, round]);
  const verifyAgain = useCallback(() => setRound((before) => before + 1), []);
  return { ...(state.runId === runId ? state : started(runId)), verifyAgain };
}

/** Each round begins with nothing checked. */
function follow(runId: string, round: number, show: (state: State) => void): () => void {
  const key = freshKey(`${runId} ${round}`);
  let state = started(runId, key);
  let isOver = false;
  let isReading = false;
  let isDue = true;
  const tell = (change: Partial<State>): void => {
    state = { ...state, ...change };
    if (!isOver) show(state);
  };
  const readAll = async (): Promise<void> => {
    if (isReading) return;
    isReading = true;
    tell({ isChecking: true });
    while (isDue && !isOver) {
      isDue = false;
      try {
        await readPages(runId, key, state.checked?.seq ?? 0, ({ rows, from, ...checked }) => {
          tell({ checked, rows: [...state.rows.slice(0, from), ...rows], tookMs: state.tookMs + checked.tookMs });
          return !isOver;
        });
        tell({ error: null });
      } catch (error) {
        tell({ error: asCallError(error) });
      }
    }
    isReading = false;
    tell({ isChecking: false });
  };
  const read = (): void => {
    isDue = true;
    readAll();
  };
  const stopRings = onRing((ring) => {
    if (ring === "everything" || (ring.record === "run" && (ring.id === null || ring.id === runId))) read();
  });
  const stopConnection = connection.subscribe(() => {
    if (connection.get().state === "live" && state.error !== null) read();
  });
  tell({});
  read();
  return () => {
    isOver = true;
    stopRings();
    stopConnection();
    askVerifier<"forget">({ type: "forget", key });
  };
}
