import { useState } from "react";
import { useActing } from "../../data/acting.ts";
import { call } from "../../data/client.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Field, FieldRow, Input } from "../../parts/field.tsx";
import styles from "./memory.module.css";

/** `replaces`: the memory that the new one supersedes. */
export function AddMemory({ replaces, onAdded }: { replaces?: string; onAdded?: (id: string) => void }) {
  const [text, setText] = useState("");
  const acting = useActing();
  const add = (): Promise<boolean> =>
    acting.run("add", async () => {
      const { id } = await call("memory.add", {
        text,
        ...(replaces === undefined ? {} : { replaces: replaces as never }),
      });
      setText("");
      onAdded?.(id);
    });
  return (
    <Card title={replaces === undefined ? "Remember something" : "Replace it"}>
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (acting.blocked === null && text.trim() !== "") add();
        }}
      >
        <FieldRow>
          <Field label="Text">
            {(control) => <Input {...control} value={text} onChange={(event) => setText(event.target.value)} />}
          </Field>
          <Button submits blocked={acting.blocked}>
            {acting.busy === null ? (replaces === undefined ? "Remember" : "Replace") : "Sending…"}
          </Button>
        </FieldRow>
        {acting.error !== null && <ErrorNote error={acting.error} />}
      </form>
    </Card>
  );
}
