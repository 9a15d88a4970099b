import type { ReactNode } from "react";
import { HostileText } from "../../parts/hostile-text.tsx";
import styles from "./chat.module.css";

const CITATION = /\[mem(?:ory)?[:.]([\w-]{1,64})\]/g;

/** `[mem:ID]` in an answer. A memory that this run did not retrieve is nobody's source, and says so. */
export function withCitations(text: string): ReactNode {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const { 0: written, 1: id = "", index } of text.matchAll(CITATION)) {
    if (index > from) parts.push(<HostileText key={from} text={text.slice(from, index)} />);
    parts.push(
      <span key={index} className={styles["citation"]}>
        [{id}: nobody retrieved this]
      </span>,
    );
    from = index + written.length;
  }
  if (from === 0) return <HostileText text={text} />;
  return [...parts, <HostileText key={from} text={text.slice(from)} />];
}
