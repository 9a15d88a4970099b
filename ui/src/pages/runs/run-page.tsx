/**
 * One run: what was asked, where it stands, what waits for a person, what it used, and every entry of its journal. Drawn from
 * its entries, which this page verifies itself, and from its record.
 */
import { Download, OctagonX, Play, SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { type Acting, useActing } from "../../data/acting.ts";
import { type AnswerOf, call, readText } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { saveFile } from "../../data/save-file.ts";
import { announce } from "../../parts/announcer.tsx";
import { ApprovalCard } from "../../parts/approval-card/approval-card.tsx";
import { Button } from "../../parts/button.tsx";
import { ErrorNote, Problem } from "../../parts/error-note.tsx";
import { Forget } from "../../parts/forget.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Time } from "../../parts/time.tsx";
import { useKeys } from "../../shell/keyboard.ts";
import { useCommands, useTitle } from "../../shell/page-title.ts";
import { useVerifiedRun, type VerifiedRun } from "../../verify/use-verified-run.ts";
import { Answer } from "./answer.tsx";
import { Budgets } from "./budgets.tsx";
import { Manifest } from "./manifest.tsx";
import { Replay, type Replayed } from "./replay.tsx";
import styles from "./run.module.css";
import { SealOfRun, SealWords } from "./seal-of-run.tsx";
import { StateTrack } from "./state-track.tsx";
import { StatusTag } from "./status-tag.tsx";
import { Timeline } from "./timeline.tsx";
import { WhatIf } from "./what-if.tsx";

const MAX_TITLE_CHARS = 160;

export function RunPage({ id }: { id: string }) {
  useTitle(`Run ${id.slice(-4)}`);
  const record = useRecord("runs.get", { id } as never);
  const approvals = useRecord("approvals.list", {});
  const verified = useVerifiedRun(id);
  const acting = useActing();
  const [replayed, setReplayed] = useState<Replayed | null>(null);
  const [isAsking, setAsking] = useState(false);
  const run = record.value;
  const isOpen = run !== undefined && run.outcome === null;
  const untrue = differenceOf(verified);
  const waiting = approvals.value?.approvals.filter((each) => each.run_id === id) ?? [];

  const verify = (): void => {
    verified.verifyAgain();
    announce("Verifying again, from the first entry.");
  };
  const replay = () => acting.run("replay", async () => setReplayed(await call("runs.replay", { id } as never)));
  const save = () => acting.run("export", () => exportRun(id));
  const stop = () => acting.run("stop", () => call("runs.cancel", { id } as never));
  useKeys([{ keys: "v", does: "verify this run again", run: verify }]);
  useCommands([
    { name: "Verify this run again", hint: "v", run: verify },
    { name: "Replay this run", run: replay },
    { name: "What if the policy were another", run: () => setAsking(true) },
    ...(isOpen ? [{ name: "Stop this run", run: stop }] : [{ name: "Export this run", run: save }]),
  ]);
  if (record.error?.status === 404) return <NoSuchRun />;
  return (
    <div className={styles["page"]}>
      <Head id={id} run={run} verified={verified} onVerify={verify} />
      {untrue !== null && (
        <Problem
          happened={untrue.happened}
          advice={untrue.advice}
          code={untrue.code}
          actions={isOpen ? undefined : <Button onClick={save}>Export this run</Button>}
        />
      )}
      {record.error !== null && <ErrorNote error={record.error} />}
      {verified.error !== null && <ErrorNote error={verified.error} />}
      {run?.damage !== undefined && untrue === null && (
        <Problem happened={`Not all of it can be read: ${run.damage}.`} />
      )}
      <StateTrack facts={verified.checked?.facts ?? null} status={run?.status ?? "queued"} />
      {waiting.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} blocked={untrue === null ? null : ACTING_IS_OFF} />
      ))}
      <Budgets id={id} checked={verified.checked} isOpen={isOpen} />
      {run !== undefined && !isOpen && <Answer run={run} answer={verified.checked?.facts.answer ?? null} />}
      <Actions
        acting={acting}
        isOpen={isOpen}
        isOff={untrue !== null}
        on={{ replay, save, stop, ask: () => setAsking(true) }}
      />
      {run !== undefined && run.erased_at === undefined && !isOpen && <ForgetRun id={id} />}
      {run?.erased_at !== undefined && (
        <p>
          Its texts were forgotten <Time at={run.erased_at} />. The chain is whole without them.
        </p>
      )}
      {acting.error !== null && <ErrorNote error={acting.error} />}
      {replayed !== null && <Replay replayed={replayed} />}
      <Timeline verified={verified} />
      {verified.checked === null && verified.error === null && <Skeleton rows={6} label="Reading the entries" />}
      <Manifest id={id} />
      {isAsking && <WhatIf id={id} policy={verified.checked?.facts.policy ?? null} onClose={() => setAsking(false)} />}
    </div>
  );
}

const ACTING_IS_OFF = "What the gateway shows of this run is not what its entries say, so nothing can be decided here.";

interface Difference {
  readonly happened: string;
  readonly advice: string;
  readonly code: string;
}

/** Null while nothing speaks against the run. */
function differenceOf({ checked }: VerifiedRun): Difference | null {
  if (checked === null) return null;
  const { bad, digest, seq } = checked;
  if (bad !== null) {
    return {
      happened: `Entry ${bad.entry} is not as it was written: ${bad.problem}.`,
      advice: "Nothing after it is proven, and nothing can be decided here. surety verify names the same entry.",
      code: "run.tampered",
    };
  }
  if (digest.here === null || digest.here === digest.gateway) return null;
  return {
    happened: `At entry ${seq} the gateway claims another state than its entries lead to.`,
    advice: "What it shows of this run cannot be relied on, and nothing can be decided here.",
    code: "run.digest",
  };
}

interface HeadProps {
  readonly id: string;
  readonly run: AnswerOf<"runs.get"> | undefined;
  readonly verified: VerifiedRun;
  readonly onVerify: () => void;
}

function Head({ id, run, verified, onVerify }: HeadProps) {
  const facts = verified.checked?.facts;
  const message = facts?.message ?? null;
  const [first = ""] = (message ?? "").trim().split("\n");
  const title = first.length > MAX_TITLE_CHARS ? `${first.slice(0, MAX_TITLE_CHARS)}…` : first;
  return (
    <header className={styles["head"]}>
      <div className={styles["titles"]}>
        <h1>{title === "" ? `Run ${id.slice(-4)}` : <HostileText text={title} />}</h1>
        {run !== undefined && <StatusTag status={run.status} outcome={run.outcome} />}
        <SealOfRun verified={verified} />
        <Button onClick={onVerify} title="v">
          Verify again
        </Button>
      </div>
      <p className={styles["facts"]}>
        <Mono title={id}>{id}</Mono>
        {run !== undefined && (
          <>
            <Link href={`/runs?agent=${encodeURIComponent(run.agent_id)}`}>{run.agent_id}</Link>
            <Link href={`/chat/${run.session_id}`}>its session</Link>
            <Mono>{`${run.provider}:${run.model}`}</Mono>
          </>
        )}
        {facts?.acceptedAt != null && <Time at={facts.acceptedAt} />}
      </p>
      <SealWords verified={verified} run={run} />
      {message !== null && message.trim() !== title && (
        <details className={styles["whole"]}>
          <summary>The whole message</summary>
          <pre>
            <HostileText text={message} />
          </pre>
        </details>
      )}
    </header>
  );
}

interface ActionsProps {
  readonly acting: Acting;
  readonly isOpen: boolean;
  readonly isOff: boolean;
  readonly on: { replay(): void; ask(): void; save(): void; stop(): void };
}

function Actions({ acting: { blocked, busy }, isOpen, isOff, on }: ActionsProps) {
  const words = (name: string, shown: string): string => (busy === name ? "Sending…" : shown);
  return (
    <div className={styles["actions"]}>
      <Button blocked={blocked} onClick={on.replay}>
        <Play size={16} aria-hidden="true" />
        {words("replay", "Replay")}
      </Button>
      <Button blocked={blocked} onClick={on.ask}>
        <SlidersHorizontal size={16} aria-hidden="true" />
        What if…
      </Button>
      <Button blocked={isOpen ? "It can be exported once it has ended." : blocked} onClick={on.save}>
        <Download size={16} aria-hidden="true" />
        {words("export", "Export")}
      </Button>
      {isOpen && (
        <Button blocked={isOff ? ACTING_IS_OFF : blocked} onClick={on.stop}>
          <OctagonX size={16} aria-hidden="true" />
          {words("stop", "Stop")}
        </Button>
      )}
    </div>
  );
}

function ForgetRun({ id }: { id: string }) {
  const forget = async () => {
    const forgotten = await call("runs.forget", { id } as never);
    refresh("runs.get", { id } as never);
    return forgotten;
  };
  return (
    <div className={styles["actions"]}>
      <Forget title="Forget this run?" blocked={null} forget={forget}>
        Its message, answer, thoughts, arguments and results are removed for good, and so are summaries made of them.
      </Forget>
    </div>
  );
}

async function exportRun(id: string): Promise<void> {
  const text = await readText("runs.bundle", { id } as never);
  saveFile(`${id}.bundle.json`, "application/json", text);
  announce("Exported. surety verify checks the file without this page.");
}

function NoSuchRun() {
  return (
    <div className={styles["page"]}>
      <h1>There is no such run</h1>
      <p>
        It may be of another home, or its address was cut off. <Link href="/runs">See all runs</Link>
      </p>
    </div>
  );
}
