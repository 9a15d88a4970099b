import { Link } from "wouter";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { ShortId } from "../../parts/mono.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { useTitle } from "../../shell/page-title.ts";
import styles from "./ghosts.module.css";

type GhostRecord = AnswerOf<"ghosts.list">["ghosts"][number];
type Action = GhostRecord["actions"][number];

const OPEN = { state: "open" } as const;
const ALL = { limit: 100 } as const;

export function GhostsPage() {
  useTitle("Ghosts");
  return (
    <PageFrame
      title="Ghosts"
      about="What the assistant noticed in your files, your shell and your repositories, and what it proposes. It does nothing before you press a button; then a run begins, which asks as any other does."
    >
      <Open />
      <Earlier />
    </PageFrame>
  );
}

function Open() {
  const { value, error } = useRecord("ghosts.list", OPEN);
  const ghosts = value?.ghosts;
  return (
    <Card
      title="Noticed"
      aside={ghosts !== undefined && ghosts.length > 0 && <Tag tone="wait">{ghosts.length} open</Tag>}
    >
      {error !== null && <ErrorNote error={error} />}
      {ghosts === undefined && error === null && <Skeleton rows={2} />}
      {ghosts?.length === 0 && <Nothing />}
      <ul className={styles["list"]}>
        {ghosts?.map((ghost) => (
          <Ghost key={ghost.id} ghost={ghost} />
        ))}
      </ul>
    </Card>
  );
}

function Nothing() {
  const config = useRecord("config.get", {});
  const { shadow } = (config.value ?? {}) as { readonly shadow?: { readonly enabled: boolean } };
  if (shadow?.enabled === false) {
    return (
      <EmptyState sentence="Nothing is watched: the shadow loop is off.">
        <Link href="/settings">Enable shadow.enabled in Settings</Link>
      </EmptyState>
    );
  }
  return <EmptyState sentence="Nothing was noticed." />;
}

function Ghost({ ghost }: { ghost: GhostRecord }) {
  const { id, trigger, observation, proposal, confidence, actions, created_at } = ghost;
  const acting = useActing();
  const take = ({ label, payload }: Action) =>
    acting.run(label, async () => {
      const planned = payload === undefined ? {} : { plan_id: payload.plan_id };
      await call("ghosts.act", { id, action: label, ...planned });
      refresh("ghosts.list", OPEN);
      refresh("ghosts.list", ALL);
    });
  return (
    <li className={styles["ghost"]}>
      <p className={styles["trigger"]}>
        <HostileText text={trigger} isDeciding />
      </p>
      <p>
        <HostileText text={observation} isDeciding />
      </p>
      <p className={styles["proposal"]}>
        <HostileText text={proposal} />
      </p>
      <p className={styles["minor"]}>
        <Time at={created_at} />, confidence {confidence}
      </p>
      {actions
        .filter(({ type, payload }) => type === "approve" && payload !== undefined)
        .map(({ label, payload }) => (
          <details key={label} className={styles["plan"]}>
            <summary>What the run would be asked</summary>
            <pre>
              <HostileText text={payload?.message ?? ""} isDeciding />
            </pre>
          </details>
        ))}
      <div className={styles["actions"]}>
        {actions.map((action) => (
          <Button
            key={action.label}
            tone={action.type === "approve" ? "primary" : "plain"}
            blocked={acting.blocked}
            onClick={() => take(action)}
          >
            {acting.busy === action.label ? "Sending…" : action.label}
          </Button>
        ))}
      </div>
      {acting.error !== null && <ErrorNote error={acting.error} />}
    </li>
  );
}

const BECAME = { acted: "acted upon", dismissed: "dismissed", settled: "no longer so", open: "open" } as const;

function Earlier() {
  const { value } = useRecord("ghosts.list", ALL);
  const ghosts = value?.ghosts.filter(({ state }) => state !== "open") ?? [];
  if (ghosts.length === 0) return null;
  return (
    <Card title="Earlier">
      <ul className={styles["list"]}>
        {ghosts.map(({ id, trigger, observation, state, run_id, created_at }) => (
          <li key={id} className={styles["earlier"]}>
            <span>
              <HostileText text={trigger} />: <HostileText text={observation} />
            </span>
            <span className={styles["minor"]}>
              <Time at={created_at} />, {BECAME[state]}
              {run_id !== null && (
                <>
                  {" "}
                  in{" "}
                  <Link href={`/runs/${run_id}`}>
                    run <ShortId id={run_id} />
                  </Link>
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
