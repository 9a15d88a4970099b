/**
 * What keeps a hand from allowing what the eye has not read.
 *
 * G1. Nothing that acts can be pressed until the card has been as it is for 700 ms: a click meant for what was there before
 *     does not count.
 * G2. Nor until the end of the plan has been on the screen.
 * G3. Nor while the gateway cannot be reached, or the approval has lapsed.
 */
import { type RefObject, useEffect, useState } from "react";
import { useBlocked } from "../../data/acting.ts";

const SETTLE_MS = 700;

interface Guard {
  /** Why nothing can be decided. */
  readonly blocked: string | null;
  /** Why nothing can be allowed. */
  readonly acting: string | null;
  readonly hasSeenEnd: boolean;
}

/** `version`: everything that is decided upon; `end`: an element behind the plan. */
export function useGuard(version: string, end: RefObject<HTMLElement | null>, isOver: boolean): Guard {
  const offline = useBlocked();
  const settled = useSettled(version);
  const seen = useSeen(version, end);
  const blocked = offline ?? (isOver ? "It has lapsed: it was denied by itself." : null);
  const unread = seen ? null : "Read the plan to its end first.";
  return {
    blocked,
    acting: blocked ?? unread ?? (settled ? null : "Just a moment: it has only now appeared."),
    hasSeenEnd: seen,
  };
}

function useSettled(version: string): boolean {
  const [settled, setSettled] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSettled(version), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [version]);
  return settled === version;
}

function useSeen(version: string, end: RefObject<HTMLElement | null>): boolean {
  const [seen, setSeen] = useState("");
  useEffect(() => {
    if (end.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(version);
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [version, end]);
  return seen === version;
}
