import { useState } from "react";
import { Link } from "wouter";
import { useActing } from "../../data/acting.ts";
import { call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Field, FieldRow, Input, Select } from "../../parts/field.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono, ShortId } from "../../parts/mono.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { useTitle } from "../../shell/page-title.ts";
import { GRANTED, type Held, PENDING, useHeld } from "./asked-for.ts";
import styles from "./capabilities.module.css";

const EXPIRIES = [
  ["900", "for 15 minutes"],
  ["3600", "for an hour"],
  ["86400", "for a day"],
  ["604800", "for a week"],
  ["", "until it is revoked"],
] as const;
type Expiry = (typeof EXPIRIES)[number][0];

/** Reads both lists again; the feed would, a moment later. */
function decided(): void {
  refresh("capabilities.list", PENDING);
  refresh("capabilities.list", GRANTED);
}

export function CapabilitiesPage() {
  useTitle("Capabilities");
  return (
    <PageFrame
      title="Capabilities"
      about="What sessions may reach over the network. The assistant can ask; only you grant, and a grant counts from the next run on."
    >
      <Pending />
      <Granted />
      <GrantForm />
    </PageFrame>
  );
}

function Pending() {
  const { held, error } = useHeld(PENDING);
  return (
    <Card
      title="Asked for"
      aside={held !== undefined && held.length > 0 && <Tag tone="wait">{held.length} waiting</Tag>}
    >
      {error !== null && <ErrorNote error={error} />}
      {held === undefined && error === null && <Skeleton rows={2} />}
      {held?.length === 0 && <EmptyState sentence="No session asks for anything." />}
      <ul className={styles["list"]}>
        {held?.map((each) => (
          <Asked key={`${each.session_id} ${each.capability}`} held={each} />
        ))}
      </ul>
    </Card>
  );
}

function Asked({ held: { session_id, capability, at, run_id } }: { held: Held }) {
  const acting = useActing();
  const [expiry, setExpiry] = useState<Expiry>("3600");
  const decide = (act: "grant" | "deny") =>
    acting.run(act, async () => {
      const expires = act === "grant" && expiry !== "" ? { expires_in_s: Number(expiry) } : {};
      await call("capabilities.decide", { session_id, [act]: capability, ...expires });
      decided();
    });
  return (
    <li className={styles["asked"]}>
      <div className={styles["what"]}>
        <p className={styles["capability"]}>
          <HostileText text={capability} isDeciding />
        </p>
        <p className={styles["minor"]}>
          {reachWords(capability)} Asked <Time at={at} /> by{" "}
          <Link href={`/sessions/${session_id}`}>
            session <ShortId id={session_id} />
          </Link>
          {run_id !== null && (
            <>
              {" "}
              in{" "}
              <Link href={`/runs/${run_id}`}>
                run <ShortId id={run_id} />
              </Link>
            </>
          )}
        </p>
      </div>
      <div className={styles["decide"]}>
        <Select
          aria-label={`How long ${capability} is granted`}
          value={expiry}
          options={EXPIRIES}
          onChange={setExpiry}
        />
        <Button blocked={acting.blocked} onClick={() => decide("deny")}>
          {acting.busy === "deny" ? "Sending…" : "Deny"}
        </Button>
        <Button tone="primary" blocked={acting.blocked} onClick={() => decide("grant")}>
          {acting.busy === "grant" ? "Sending…" : "Grant"}
        </Button>
      </div>
      {acting.error !== null && <ErrorNote error={acting.error} />}
    </li>
  );
}

function Granted() {
  const { held, error } = useHeld(GRANTED);
  const [revoking, setRevoking] = useState<Held | null>(null);
  const acting = useActing();
  return (
    <Card title="Granted">
      {error !== null && <ErrorNote error={error} />}
      {held === undefined && error === null && <Skeleton rows={2} />}
      {held?.length === 0 && <EmptyState sentence="Nothing is granted: no session reaches the network." />}
      {held !== undefined && held.length > 0 && (
        <Table
          label="Granted capabilities"
          rows={held}
          keyOf={(row) => `${row.session_id} ${row.capability}`}
          columns={[
            {
              title: "Capability",
              draw: ({ capability }) => (
                <Mono>
                  <HostileText text={capability} isDeciding />
                </Mono>
              ),
            },
            {
              title: "Session",
              draw: ({ session_id }) => (
                <Link href={`/sessions/${session_id}`}>
                  <ShortId id={session_id} />
                </Link>
              ),
            },
            { title: "Granted", draw: ({ at }) => <Time at={at} /> },
            { title: "By", draw: ({ by }) => <HostileText text={by} /> },
            {
              title: "Until",
              draw: ({ expires_at }) => (expires_at === null ? "revoked" : <Time at={expires_at} />),
            },
            {
              title: "",
              kind: "narrow",
              draw: (row) => (
                <Button
                  blocked={acting.blocked}
                  aria-label={`Revoke ${row.capability} of session ${row.session_id.slice(-6)}`}
                  onClick={() => setRevoking(row)}
                >
                  Revoke
                </Button>
              ),
            },
          ]}
        />
      )}
      {revoking !== null && (
        <Confirm
          title={`Revoke ${revoking.capability}?`}
          verb="Revoke"
          acting={acting}
          onClose={() => setRevoking(null)}
          onConfirm={async () => {
            const { session_id, capability } = revoking;
            await call("capabilities.decide", { session_id, revoke: capability });
            decided();
          }}
        >
          <p>It counts from the next call on, in runs under way too. What was reached already stays on record.</p>
        </Confirm>
      )}
    </Card>
  );
}

function GrantForm() {
  const sessions = useRecord("sessions.list", { limit: 100 });
  const [session, setSession] = useState("");
  const [host, setHost] = useState("");
  const [expiry, setExpiry] = useState<Expiry>("3600");
  const acting = useActing();
  const rows = sessions.value?.sessions ?? [];
  const chosen = session === "" ? (rows[0]?.id ?? "") : session;
  const name = host.trim().toLowerCase();
  const capability = name === "" ? "net" : `net:${name}`;
  const grant = (): Promise<boolean> =>
    acting.run("grant", async () => {
      const expires = expiry === "" ? {} : { expires_in_s: Number(expiry) };
      await call("capabilities.decide", { session_id: chosen, grant: capability, ...expires });
      decided();
      setHost("");
    });
  if (rows.length === 0) return null;
  return (
    <Card title="Grant before it is asked">
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (acting.blocked === null) grant();
        }}
      >
        <FieldRow>
          <Field label="Session">
            {(control) => (
              <Select
                {...control}
                value={chosen}
                options={rows.map(({ id, title, channel }) => [
                  id,
                  `${title ?? "Untitled"} (${channel}, ${id.slice(-6)})`,
                ])}
                onChange={setSession}
              />
            )}
          </Field>
          <Field label="Host">
            {(control) => (
              <Input
                {...control}
                isFact
                placeholder="example.org"
                value={host}
                onChange={(event) => setHost(event.target.value)}
              />
            )}
          </Field>
          <Field label="How long">
            {(control) => <Select {...control} value={expiry} options={EXPIRIES} onChange={setExpiry} />}
          </Field>
          <Button submits blocked={acting.blocked}>
            {acting.busy === null ? "Grant" : "Sending…"} <Mono>{capability}</Mono>
          </Button>
        </FieldRow>
        <p className={styles["minor"]}>{reachWords(capability)} A host means that very host, without its subdomains.</p>
        {acting.error !== null && <ErrorNote error={acting.error} />}
      </form>
    </Card>
  );
}

function reachWords(capability: string): string {
  if (capability === "net")
    return "Reaches every host on tools.http.allowDomains, or any host if there is no such list.";
  const host = /^net:(.+)$/.exec(capability)?.[1];
  return host === undefined ? "" : `Reaches ${host} and no other host.`;
}
