import { useState } from "react";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Field, FieldRow, Input } from "../../parts/field.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./settings.module.css";

type Secret = AnswerOf<"secrets.list">["secrets"][number];

/** Secrets by name. A value goes in here and never comes back. */
export function SecretsPart() {
  const { value, error } = useRecord("secrets.list", {});
  const [removing, setRemoving] = useState<Secret | null>(null);
  const acting = useActing();
  return (
    <Card title="Secrets">
      <p className={styles["minor"]}>
        Kept encrypted. Channels and the arguments of calls name them. The model sees a name such as{" "}
        <Mono>⟦secret:CRM_KEY⟧</Mono>, never a value.
      </p>
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={2} />}
      {value?.secrets.length === 0 && <EmptyState sentence="There is no secret yet." />}
      {value !== undefined && value.secrets.length > 0 && (
        <Table
          label="Secrets"
          rows={value.secrets}
          keyOf={({ name }) => name}
          columns={[
            { title: "Name", draw: ({ name }) => <Mono>{name}</Mono> },
            { title: "Set", draw: ({ updated_at }) => <Time at={updated_at} /> },
            {
              title: "",
              kind: "narrow",
              draw: (secret) => (
                <Button
                  blocked={acting.blocked}
                  aria-label={`Remove ${secret.name}`}
                  onClick={() => setRemoving(secret)}
                >
                  Remove
                </Button>
              ),
            },
          ]}
        />
      )}
      <SecretForm />
      {removing !== null && (
        <Confirm
          title={`Remove ${removing.name}?`}
          verb="Remove"
          acting={acting}
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await call("secrets.remove", { name: removing.name });
            refresh("secrets.list", {});
          }}
        >
          <p>What names it fails from the next run on. The value cannot be brought back.</p>
        </Confirm>
      )}
    </Card>
  );
}

function SecretForm() {
  const [name, setName] = useState("");
  const [secret, setSecret] = useState("");
  const acting = useActing();
  const set = (): Promise<boolean> =>
    acting.run("set", async () => {
      await call("secrets.set", { name: name.trim(), value: secret });
      refresh("secrets.list", {});
      setName("");
      setSecret("");
    });
  return (
    <form
      className={styles["newToken"]}
      onSubmit={(event) => {
        event.preventDefault();
        if (acting.blocked === null) set();
      }}
    >
      <h3>Set a secret</h3>
      <FieldRow>
        <Field label="Name">
          {(control) => (
            <Input
              {...control}
              isFact
              required
              placeholder="CRM_KEY"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label="Value">
          {(control) => (
            <Input
              {...control}
              type="password"
              autoComplete="new-password"
              required
              value={secret}
              onChange={(event) => setSecret(event.target.value)}
            />
          )}
        </Field>
        <Button submits blocked={acting.blocked}>
          {acting.busy === null ? "Set it" : "Sending…"}
        </Button>
      </FieldRow>
      {acting.error !== null && <ErrorNote error={acting.error} />}
    </form>
  );
}
