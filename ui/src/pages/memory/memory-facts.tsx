/** What is said of a memory wherever it is shown. */
import type { AnswerOf } from "../../data/client.ts";
import { Tag } from "../../parts/tag.tsx";

type Memory = AnswerOf<"memory.list">["memories"][number];

export const KINDS: Readonly<Record<Memory["kind"], string>> = {
  remembered: "Remembered",
  summary: "Summary of a conversation",
  closed_loop: "Closed loop",
  imported: "Imported",
};

export function Labels({ memory: { labels } }: { memory: Pick<Memory, "labels"> }) {
  const { integrity, confidentiality } = labels;
  const words = `${integrity} × ${confidentiality}`;
  return integrity === "untrusted" ? <Tag tone="untrusted">{words}</Tag> : <Tag>{words}</Tag>;
}
