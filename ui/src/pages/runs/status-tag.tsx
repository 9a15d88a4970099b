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

interface StatusTagProps {
  readonly status: Status;
  readonly outcome?: string | null;
  /** Among many, what went well stays quiet. */
  readonly isInList?: boolean;
}

/** Where a run stands, in a word. */
export function StatusTag({ status, outcome = null, isInList = false }: StatusTagProps) {
  if (isInList && status === "completed") return STATUS_WORDS[status];
  if (status === "waiting_approval") return <Tag tone="wait">{STATUS_WORDS[status]}</Tag>;
  if (status === "failed") return <Tag tone="fail">{outcome ?? STATUS_WORDS[status]}</Tag>;
  if (status === "completed") return <Tag>{outcome ?? STATUS_WORDS[status]}</Tag>;
  const Icon = ICONS[status];
  return <Tag icon={<Icon size={13} aria-hidden="true" />}>{STATUS_WORDS[status]}</Tag>;
}
