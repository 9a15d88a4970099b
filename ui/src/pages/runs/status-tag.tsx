import { CircleDashed, CircleSlash, LoaderCircle } from "lucide-react";
import type { AnswerOf } from "../../data/client.ts";
import { Tag } from "../../parts/tag.tsx";

type Status = AnswerOf<"runs.get">["status"];

export const STATUS_WORDS: Readonly<Record<Status, string>> = {
  queued: "queued",
  running: "running",
  waiting_approval: "waits for you",
  completed: "completed",
  failed: "failed",
  cancelled: "stopped",
};

const ICONS = { queued: CircleDashed, running: LoaderCircle, cancelled: CircleSlash } as const;

/** Where a run stands, in a word. */
export function StatusTag({ status, outcome = null }: { status: Status; outcome?: string | null }) {
  if (status === "waiting_approval") return <Tag tone="wait">{STATUS_WORDS[status]}</Tag>;
  if (status === "failed") return <Tag tone="fail">{outcome ?? STATUS_WORDS[status]}</Tag>;
  if (status === "completed") return <Tag>{outcome ?? STATUS_WORDS[status]}</Tag>;
  const Icon = ICONS[status];
  return <Tag icon={<Icon size={13} aria-hidden="true" />}>{STATUS_WORDS[status]}</Tag>;
}
