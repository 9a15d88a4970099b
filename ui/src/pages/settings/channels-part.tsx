import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./settings.module.css";

type Pairing = AnswerOf<"pairings.list">["pairings"][number];
type Message = AnswerOf<"outbox.list">["messages"][number];

const PAIRINGS = { limit: 500 } as const;
const OUTBOX = { limit: 50 } as const;

/** Who may write to the assistant, and what it has sent. */
export function ChannelsPart() {
  return (
    <>
      <Senders />
      <Outbox />
    </>
  );
}

function Senders() {
  const { value, error } = useRecord("pairings.list", PAIRINGS);
  const pairings = value?.pairings ?? [];
  const waiting = pairings.filter(({ state }) => state === "pending");
  return (
    <Card title="Senders" aside={waiting.length > 0 && <Tag tone="wait">{waiting.length} waiting</Tag>}>
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={2} />}
      {value !== undefined && pairings.length === 0 && (
        <EmptyState sentence="Nobody has written from outside. A new sender gets a code and waits here." />
      )}
      <ul className={styles["rows"]}>
        {[...waiting, ...pairings.filter(({ state }) => state !== "pending")].map((pairing) => (
          <Sender key={`${pairing.channel}:${pairing.sender_id}`} pairing={pairing} />
        ))}
      </ul>
    </Card>
  );
}

function Sender({ pairing }: { pairing: Pairing }) {
  const { channel, sender_id, sender_name, state, code, requested_at, decided_at, decided_by } = pairing;
  const acting = useActing();
  const decide = (decision: "accept" | "deny") =>
    acting.run(decision, async () => {
      await call("pairings.decide", { sender: code ?? `${channel}:${sender_id}`, decision });
      refresh("pairings.list", PAIRINGS);
    });
  return (
    <li className={styles["row"]}>
      <div className={styles["what"]}>
        <p className={styles["strong"]}>
          {sender_name !== null && (
            <>
              <HostileText text={sender_name} isDeciding />{" "}
            </>
          )}
          <Mono>
            <HostileText text={`${channel}:${sender_id}`} isDeciding />
          </Mono>
        </p>
        <p className={styles["minor"]}>
          {state === "pending" ? "waits" : state}
          {code !== null && (
            <>
              {" "}
              with code <Mono>{code}</Mono>
            </>
          )}
          , <Time at={decided_at ?? requested_at} />
          {decided_by !== null && (
            <>
              {" "}
              by <HostileText text={decided_by} />
            </>
          )}
          {state === "forged" && ": another program changed this row, so it counts for nothing until you decide"}
        </p>
      </div>
      <div className={styles["actions"]}>
        {state !== "denied" && (
          <Button blocked={acting.blocked} onClick={() => decide("deny")}>
            {acting.busy === "deny" ? "Sending…" : state === "accepted" ? "Take back" : "Deny"}
          </Button>
        )}
        {state !== "accepted" && (
          <Button blocked={acting.blocked} onClick={() => decide("accept")}>
            {acting.busy === "accept" ? "Sending…" : "Accept"}
          </Button>
        )}
      </div>
      {acting.error !== null && <ErrorNote error={acting.error} />}
    </li>
  );
}

function Outbox() {
  const { value, error } = useRecord("outbox.list", OUTBOX);
  const messages = value?.messages ?? [];
  const ambiguous = messages.filter(({ state }) => state === "ambiguous");
  return (
    <Card title="Outbox" aside={ambiguous.length > 0 && <Tag tone="wait">{ambiguous.length} in doubt</Tag>}>
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={2} />}
      {value !== undefined && messages.length === 0 && <EmptyState sentence="No message has gone to a channel." />}
      {ambiguous.length > 0 && (
        <ul className={styles["rows"]}>
          {ambiguous.map((message) => (
            <InDoubt key={message.id} message={message} />
          ))}
        </ul>
      )}
      {messages.length > ambiguous.length && (
        <Table
          label="Messages to channels"
          rows={messages.filter(({ state }) => state !== "ambiguous")}
          keyOf={({ id }) => id}
          columns={[
            { title: "When", draw: ({ created_at }) => <Time at={created_at} /> },
            {
              title: "To",
              draw: ({ channel, recipient }) => (
                <Mono>
                  <HostileText text={`${channel}:${recipient.address}`} />
                </Mono>
              ),
            },
            { title: "State", draw: (message) => <State message={message} /> },
            { title: "Text", draw: ({ text }) => <HostileText text={cut(text ?? "")} /> },
          ]}
        />
      )}
    </Card>
  );
}

function State({ message: { state, problem } }: { message: Message }) {
  if (state === "failed") return <Tag tone="fail">{problem ?? state}</Tag>;
  return <>{state}</>;
}

const FATES = [
  ["sent", "It arrived"],
  ["failed", "It did not"],
  ["retry", "Send it again"],
] as const;

/** A message whose channel never answered: only a person can know whether it arrived. */
function InDoubt({ message: { id, channel, recipient, text, created_at } }: { message: Message }) {
  const acting = useActing();
  return (
    <li className={styles["row"]}>
      <div className={styles["what"]}>
        <p className={styles["strong"]}>
          Did this message arrive at <HostileText text={`${channel}:${recipient.address}`} isDeciding />?
        </p>
        <p className={styles["minor"]}>
          <Time at={created_at} />: <HostileText text={cut(text ?? "")} />
        </p>
      </div>
      <div className={styles["actions"]}>
        {FATES.map(([decision, words]) => (
          <Button
            key={decision}
            blocked={acting.blocked}
            onClick={() =>
              acting.run(decision, async () => {
                await call("outbox.settle", { id, decision });
                refresh("outbox.list", OUTBOX);
              })
            }
          >
            {acting.busy === decision ? "Sending…" : words}
          </Button>
        ))}
      </div>
      {acting.error !== null && <ErrorNote error={acting.error} />}
    </li>
  );
}

const SHOWN_CHARS = 200;

function cut(text: string): string {
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}
