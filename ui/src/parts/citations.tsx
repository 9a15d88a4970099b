import { type ReactNode, useCallback } from "react";
import { Link } from "wouter";
import { useRecord } from "../data/records.ts";
import styles from "./citations.module.css";
import { HostileText } from "./hostile-text.tsx";

const CITATION = /\[mem(?:ory)?[:.]([\w-]{1,64})\]/g;
const IS_CITING = /\[mem(?:ory)?[:.]/;

interface Given {
  readonly id: string;
  readonly text: string | null;
}

/**
 * `[mem:ID]` in the text of an answer, as a link to the memory. The run's record lists the memories it was given; a citation of any
 * other one is marked as not retrieved. Null run: nothing was retrieved.
 */
export function useCitations(runId: string | null, answer: string): (text: string) => ReactNode {
  const asks = runId !== null && IS_CITING.test(answer);
  const { value, error } = useRecord("memory.given", asks ? ({ id: runId } as never) : null);
  const isReading = asks && value === undefined && error === null;
  const given = value?.memories;
  return useCallback((text: string) => cited(text, given ?? [], isReading), [given, isReading]);
}

function cited(text: string, given: readonly Given[], isReading: boolean): ReactNode {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const { 0: written, 1: id = "", index } of text.matchAll(CITATION)) {
    if (index > from) parts.push(<HostileText key={from} text={text.slice(from, index)} />);
    parts.push(<Citation key={index} id={id} given={given} isReading={isReading} />);
    from = index + written.length;
  }
  if (from === 0) return <HostileText text={text} />;
  return [...parts, <HostileText key={from} text={text.slice(from)} />];
}

function Citation({ id, given, isReading }: { id: string; given: readonly Given[]; isReading: boolean }) {
  const at = given.findIndex((memory) => memory.id === id);
  if (at >= 0) {
    return (
      <Link href={`/memory/${id}`} className={styles["link"]} aria-label={`Memory ${at + 1}`}>
        [{at + 1}]
      </Link>
    );
  }
  if (isReading) return <span className={styles["citation"]}>[…]</span>;
  return <span className={styles["citation"]}>[{id}: nobody retrieved this]</span>;
}
