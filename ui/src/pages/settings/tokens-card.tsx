import { useState } from "react";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { CopyLine } from "../../parts/copy-line.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Field, FieldRow, Input, Select } from "../../parts/field.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./settings.module.css";

type Token = AnswerOf<"tokens.list">["tokens"][number];
type NewToken = AnswerOf<"tokens.add">;
type Scope = Token["scope"];

const MAIN = "main";
const SCOPES: readonly (readonly [Scope, string])[] = [
  ["chat", "chat: speaks for one sender"],
  ["operate", "operate: runs, approvals, sessions"],
  ["admin", "admin: everything, also tokens and the configuration"],
];
const EXPIRIES = [
  ["86400", "in a day"],
  ["2592000", "in 30 days"],
  ["31536000", "in a year"],
  ["", "never"],
] as const;
type Expiry = (typeof EXPIRIES)[number][0];

/** Tokens of programs. A token itself is shown once, when it is made. */
export function TokensCard() {
  const { value, error } = useRecord("tokens.list", {});
  const [made, setMade] = useState<NewToken | null>(null);
  const [asked, setAsked] = useState<{ readonly act: "rotate" | "remove"; readonly token: Token } | null>(null);
  const acting = useActing();
  return (
    <Card title="Tokens">
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={2} />}
      {value !== undefined && (
        <Table
          label="Tokens"
          rows={value.tokens}
          keyOf={({ id }) => id}
          columns={[
            { title: "Name", draw: ({ name }) => <HostileText text={name} /> },
            { title: "May", draw: ({ scope }) => <Mono>{scope}</Mono> },
            {
              title: "Speaks for",
              draw: ({ owner }) => (owner === null ? "you" : <HostileText text={owner} isDeciding />),
            },
            { title: "Expires", draw: (token) => <Expires token={token} /> },
            {
              title: "",
              kind: "narrow",
              draw: (token) => (
                <span className={styles["buttons"]}>
                  <Button
                    blocked={acting.blocked}
                    aria-label={`Rotate ${token.name}`}
                    onClick={() => setAsked({ act: "rotate", token })}
                  >
                    Rotate
                  </Button>
                  {token.id !== MAIN && (
                    <Button
                      blocked={acting.blocked}
                      aria-label={`Remove ${token.name}`}
                      onClick={() => setAsked({ act: "remove", token })}
                    >
                      Remove
                    </Button>
                  )}
                </span>
              ),
            },
          ]}
        />
      )}
      <NewTokenForm onMade={setMade} />
      {asked !== null && (
        <Confirm
          title={asked.act === "rotate" ? "Give this token another secret?" : "Remove this token?"}
          verb={asked.act === "rotate" ? "Rotate" : "Remove"}
          acting={acting}
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            const { id } = asked.token;
            if (asked.act === "rotate") setMade(await call("tokens.rotate", { id }));
            else await call("tokens.remove", { id });
            refresh("tokens.list", {});
          }}
        >
          <p className={styles["strong"]}>
            <HostileText text={asked.token.name} isDeciding />
          </p>
          <p>Whatever uses it now is cut off at once.</p>
        </Confirm>
      )}
      {made !== null && <MadeDialog made={made} onClose={() => setMade(null)} />}
    </Card>
  );
}

function Expires({ token: { state, expires_at } }: { token: Token }) {
  if (state === "forged") return <Tag tone="fail">not in the ledger</Tag>;
  if (state === "expired") return <Tag>expired</Tag>;
  return expires_at === null ? <>never</> : <Time at={expires_at} />;
}

function NewTokenForm({ onMade }: { onMade: (made: NewToken) => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("operate");
  const [owner, setOwner] = useState("");
  const [expiry, setExpiry] = useState<Expiry>("2592000");
  const acting = useActing();
  const make = (): Promise<boolean> =>
    acting.run("make", async () => {
      const of = scope === "chat" ? { owner: owner.trim() } : {};
      const until = expiry === "" ? {} : { expires_in_s: Number(expiry) };
      onMade(await call("tokens.add", { name: name.trim(), scope, ...of, ...until }));
      refresh("tokens.list", {});
      setName("");
      setOwner("");
    });
  return (
    <form
      className={styles["newToken"]}
      onSubmit={(event) => {
        event.preventDefault();
        if (acting.blocked === null) make();
      }}
    >
      <h3>New token</h3>
      <FieldRow>
        <Field label="Name">
          {(control) => (
            <Input
              {...control}
              required
              placeholder="what uses it"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label="May">
          {(control) => <Select {...control} value={scope} options={SCOPES} onChange={setScope} />}
        </Field>
        {scope === "chat" && (
          <Field label="Speaks for">
            {(control) => (
              <Input
                {...control}
                isFact
                required
                placeholder="channel:sender"
                value={owner}
                onChange={(event) => setOwner(event.target.value)}
              />
            )}
          </Field>
        )}
        <Field label="Expires">
          {(control) => <Select {...control} value={expiry} options={EXPIRIES} onChange={setExpiry} />}
        </Field>
        <Button submits blocked={acting.blocked}>
          {acting.busy === null ? "Make a token" : "Sending…"}
        </Button>
      </FieldRow>
      {acting.error !== null && <ErrorNote error={acting.error} />}
    </form>
  );
}

function MadeDialog({ made, onClose }: { made: NewToken; onClose: () => void }) {
  return (
    <Dialog title="The token" onClose={onClose} actions={<Button onClick={onClose}>I have it</Button>}>
      <div className={styles["made"]}>
        <p>
          It is shown now and never again. Keep it like a password: it may <Mono>{made.scope}</Mono>.
        </p>
        <CopyLine name="the token" text={made.token} />
      </div>
    </Dialog>
  );
}
