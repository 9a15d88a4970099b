import { useState } from "react";
import { useActing } from "../../data/acting.ts";
import { call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Tag } from "../../parts/tag.tsx";
import styles from "./policy.module.css";

/** Files that an untrusted context wrote: whoever reads them has read untrusted text. */
export function MarksCard() {
  const { value, error } = useRecord("marks.list", {});
  const [removing, setRemoving] = useState<string | null>(null);
  const acting = useActing();
  const marks = value?.marks ?? [];
  return (
    <Card title="Marked files" aside={marks.length > 0 && <Tag tone="untrusted">{marks.length} untrusted</Tag>}>
      <p className={styles["minor"]}>
        A run that had read untrusted text wrote these. A run that reads them counts as having read untrusted text.
      </p>
      {error !== null && <ErrorNote error={error} />}
      {value !== undefined && marks.length === 0 && <EmptyState sentence="No file in the workspace is marked." />}
      <ul className={styles["marks"]}>
        {marks.map((path) => (
          <li key={path} className={styles["mark"]}>
            <span className={styles["path"]}>
              {path === "." ? "the whole workspace" : <HostileText text={path} isDeciding />}
            </span>
            <Button blocked={acting.blocked} onClick={() => setRemoving(path)}>
              Trust it…
            </Button>
          </li>
        ))}
      </ul>
      {removing !== null && (
        <Confirm
          title="Trust this file?"
          verb="Trust it"
          acting={acting}
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await call("marks.remove", { remove: removing });
            refresh("marks.list", {});
          }}
        >
          <p className={styles["path"]}>
            <HostileText text={removing} isDeciding />
          </p>
          <p>It counts as your own from then on. Read it first: what stands in it may try to steer the assistant.</p>
        </Confirm>
      )}
    </Card>
  );
}
