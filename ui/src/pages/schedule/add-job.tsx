import { useState } from "react";
import { useActing } from "../../data/acting.ts";
import { call } from "../../data/client.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Field, FieldRow, Input } from "../../parts/field.tsx";
import styles from "./schedule.module.css";

export function AddJob() {
  const [schedule, setSchedule] = useState("@every 1h");
  const [message, setMessage] = useState("");
  const acting = useActing();
  const add = () =>
    acting.run("add", async () => {
      await call("schedule.add", { agent_id: "main", schedule: schedule.trim(), message });
      setMessage("");
    });
  return (
    <Card title="Add a job">
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (acting.blocked === null) add();
        }}
      >
        <FieldRow>
          <Field label="When">
            {(control) => (
              <Input {...control} isFact value={schedule} onChange={(event) => setSchedule(event.target.value)} />
            )}
          </Field>
          <Field label="Message">
            {(control) => (
              <Input
                {...control}
                placeholder="list files"
                value={message}
                onChange={(event) => setMessage(event.target.value)}
              />
            )}
          </Field>
          <Button submits blocked={acting.blocked}>
            {acting.busy === null ? "Add" : "Sending…"}
          </Button>
        </FieldRow>
        <p className={styles["minor"]}>
          @every with 30m, 1h30m or 1.5h (10s to 366 days), or one time such as 2026-02-18T09:00:00+01:00.
        </p>
        {acting.error !== null && <ErrorNote error={acting.error} />}
      </form>
    </Card>
  );
}
