import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { asCallError, type CallError, call } from "../../data/client.ts";
import { useRecord } from "../../data/records.ts";
import { endedTurns, mergeTurns, openTurn, type Session, type Turn } from "./turns.ts";

const PAGE_TURNS = 100;

export interface Conversation {
  readonly session: Session | null;
  readonly turns: readonly Turn[];
  readonly error: CallError | null;
  readonly isLoading: boolean;
  /** Reads what was said before the first turn that is shown. */
  readonly readEarlier: () => void;
}

/** The turns of a session: those read last, and earlier ones as the reader goes back. */
export function useConversation(id: string | null): Conversation {
  const { value, error } = useRecord("sessions.get", id === null ? null : ({ id } as never));
  const [earlier, setEarlier] = useState<{ id: string | null; turns: readonly Turn[]; isAll: boolean }>(NONE);
  const isReading = useRef(false);
  const kept = earlier.id === id ? earlier : NONE;
  const latest = useMemo(() => (value === undefined ? [] : endedTurns(value.messages)), [value]);
  const ended = useMemo(() => mergeTurns(kept.turns, latest), [kept, latest]);
  const turns = useMemo(() => {
    const known = new Set(ended.map((turn) => turn.id));
    const open = (value?.openRuns ?? []).filter((run) => !known.has(run.id)).map(openTurn);
    // One that waits for a person does not hold up those behind it.
    return [...ended, ...open].toSorted((a, b) => a.askedAt - b.askedAt);
  }, [ended, value]);

  // What scrolls out of the last reading stays.
  useEffect(() => {
    if (ended.length > 0) setEarlier((before) => ({ id, turns: ended, isAll: before.id === id && before.isAll }));
  }, [id, ended]);

  const first = ended[0]?.firstMessage ?? null;
  const isAll = kept.isAll || latest.length < PAGE_TURNS;
  const readEarlier = useCallback(async () => {
    if (id === null || first === null || isAll || isReading.current) return;
    isReading.current = true;
    try {
      const page = await call("sessions.get", { id, before: first, limit: PAGE_TURNS } as never);
      const more = endedTurns(page.messages);
      setEarlier((before) => ({ id, turns: [...more, ...before.turns], isAll: more.length < PAGE_TURNS }));
    } catch (failure) {
      // The next time the reader comes to the start it is asked again.
      if (asCallError(failure).status === 404) setEarlier((before) => ({ ...before, isAll: true }));
    } finally {
      isReading.current = false;
    }
  }, [id, first, isAll]);
  return { session: value ?? null, turns, error, isLoading: id !== null && value === undefined, readEarlier };
}

const NONE: { id: string | null; turns: readonly Turn[]; isAll: boolean } = { id: null, turns: [], isAll: false };
