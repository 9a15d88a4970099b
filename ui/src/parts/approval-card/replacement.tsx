/** What a write would change in the file that it replaces, where the text of both is known. */
import { mayHoldMarker } from "../../../../src/kernel/redaction/redaction-marker.ts";
import styles from "../line-diff.module.css";
import { type DiffLine, DiffRows, useLineDiff } from "../line-diff.tsx";
import type { ApprovalRecord } from "./approval-record.ts";

/** Null: nothing is replaced, or it cannot be compared. Two secrets that were taken out would look the same. */
export function useReplacement({ call }: ApprovalRecord): readonly DiffLine[] | null {
  const before = call?.replaces ?? null;
  const { text = "" } = before === null || call === null ? {} : (JSON.parse(call.args) as { readonly text?: string });
  return useLineDiff(before === null || mayHoldMarker(before) ? null : before, text);
}

export function Replacement({ lines }: { lines: readonly DiffLine[] }) {
  return (
    <section className={styles["whole"]} aria-label="What changes in the file">
      <DiffRows lines={lines} />
    </section>
  );
}
