import type { AnswerOf } from "../../data/client.ts";
import { HostileText } from "../../parts/hostile-text.tsx";
import { ShortId } from "../../parts/mono.tsx";

export type SessionRow = AnswerOf<"sessions.list">["sessions"][number];

export function SessionName({ row }: { row: Pick<SessionRow, "id" | "title"> }) {
  if (row.title !== null) return <HostileText text={row.title} />;
  return (
    <>
      Untitled <ShortId id={row.id} />
    </>
  );
}

export function messagesWords(count: number): string {
  return count === 1 ? "1 message" : `${count.toLocaleString("en")} messages`;
}
