/**
 * An approval: what would run, why it asks, what untrusted text was read before, and the buttons. Drawn from its record only;
 * it goes when the record says that it was decided.
 */
import { type ReactNode, useId, useRef, useState } from "react";
import { asCallError, type CallError, call } from "../../data/client.ts";
import { refresh } from "../../data/records.ts";
import { useKeys } from "../../shell/keyboard.ts";
import { textOf } from "../../words.ts";
import { announce } from "../announcer.tsx";
import { ArgvBoxes } from "../argv-boxes.tsx";
import { Button } from "../button.tsx";
import { ErrorNote } from "../error-note.tsx";
import { HostileText } from "../hostile-text.tsx";
import { JsonTree } from "../json-tree.tsx";
import type { DiffLine } from "../line-diff.tsx";
import { Hash, Mono } from "../mono.tsx";
import { useCountdown } from "../time.tsx";
import styles from "./approval-card.module.css";
import type { ApprovalRecord } from "./approval-record.ts";
import { CHOICES, type Decision, titleOf } from "./card-words.ts";
import { PlanView } from "./plan-view.tsx";
import { Replacement, useReplacement } from "./replacement.tsx";
import { useGuard } from "./use-guard.ts";
import { Explained, Provenance, RuleLink, WhyItAsks } from "./why-it-asks.tsx";

interface ApprovalCardProps {
  readonly approval: ApprovalRecord;
  /** Why it may not be answered here. */
  readonly blocked?: string | null;
}

export function ApprovalCard({ approval, blocked = null }: ApprovalCardProps) {
  const { kind, plan_hash } = approval;
  const card = useRef<HTMLElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const titleId = useId();
  const left = useCountdown(approval.expires_at);
  const replaced = useReplacement(approval);
  const drawn = replaced === null ? "whole" : "compared";
  const guard = useGuard(`${approval.id} ${plan_hash} ${drawn} ${approval.plan}`, end, left === null);
  const { sending, error, decide } = useDecide(approval);
  const choices = CHOICES[kind];
  const title = titleOf(approval);

  const blockedFor = (acts: boolean): string | null =>
    blocked ?? (sending === null ? (acts ? guard.acting : guard.blocked) : "Sending…");
  const press = (decision: Decision, acts: boolean): void => {
    const why = blockedFor(acts);
    if (why === null) decide(decision);
    else announce(why);
  };
  const keys =
    kind === "approve"
      ? ([
          ["Shift A", "allow"],
          ["Shift D", "deny"],
        ] as const)
      : [];
  useKeys(
    keys.map(([name, decision]) => ({
      keys: name,
      does: `${decision} the card in focus, once`,
      run: () => press(decision, decision === "allow"),
    })),
    () => card.current?.contains(document.activeElement) === true,
  );
  return (
    <article ref={card} className={styles["card"]} aria-labelledby={titleId} tabIndex={0}>
      <header className={styles["head"]}>
        <h2 id={titleId}>
          {title.before}
          <HostileText text={title.named} isDeciding />
          {title.after}
        </h2>
        <span className={styles["left"]}>{leftWords(kind, left)}</span>
      </header>
      <section className={styles["body"]} aria-label="The plan" tabIndex={0}>
        <Call approval={approval} replaced={replaced} />
        <WhyItAsks approval={approval} />
        <Provenance approval={approval} />
        {approval.explain !== null && <Explained explain={approval.explain} />}
        <div ref={end} className={styles["end"]} />
      </section>
      {error !== null && <ErrorNote error={error} />}
      <footer className={styles["foot"]}>
        {choices.map(({ decision, label, effect, acts }) => (
          <Button
            key={decision}
            tone={acts && decision !== "retry" ? "primary" : "plain"}
            title={effect}
            blocked={blockedFor(acts)}
            onClick={() => decide(decision)}
          >
            {sending === decision ? "Sending…" : label}
          </Button>
        ))}
        {!guard.hasSeenEnd && (
          <Button tone="quiet" onClick={() => end.current?.scrollIntoView({ block: "end" })}>
            Show the rest
          </Button>
        )}
        {kind === "approve" && <RuleLink approval={approval} />}
      </footer>
    </article>
  );
}

function leftWords(kind: ApprovalRecord["kind"], left: string | null): ReactNode {
  if (left === null) return "lapsed";
  return kind === "approve" ? `denied by itself in ${left}` : `left open in ${left}`;
}

/** What would run, as exactly as it is planned. */
function Call({ approval, replaced }: { approval: ApprovalRecord; replaced: readonly DiffLine[] | null }) {
  const { call: planned, kind, tool, plan, plan_hash } = approval;
  if (planned === null) return <PlanView text={plan} />;
  const { argv, cwd, args, text, reversal } = planned;
  const isCommand = argv.length > 0;
  return (
    <>
      <p className={styles["lead"]}>
        {kind === "approve" ? "This will run, exactly:" : "This was begun, and nobody knows what came of it:"}
      </p>
      {isCommand && <ArgvBoxes argv={argv} />}
      {!isCommand && QUOTED[tool] === undefined && <Arguments tool={tool} json={args} />}
      <PlanView
        text={isCommand ? withoutCommandLine(text, argv) : text}
        quoted={QUOTED[tool] ?? "plain"}
        instead={replaced && <Replacement lines={replaced} />}
      />
      <p className={styles["lead"]}>
        {cwd !== null && !isCommand && (
          <>
            in{" "}
            <Mono>
              <HostileText text={cwd} isDeciding />
            </Mono>
            {" · "}
          </>
        )}
        plan <Hash value={plan_hash} /> · can be undone: {reversalWords(reversal)}
      </p>
    </>
  );
}

/** The plans of these show every argument themselves, long texts line by line. */
const QUOTED: Readonly<Record<string, "added" | "signed" | "plain">> = {
  "fs.write_text": "added",
  "fs.edit": "signed",
  "fs.delete": "plain",
};

/** The boxes say it better, unless a word in them could be taken for the sign between two programs. */
function withoutCommandLine(text: string, argv: readonly string[]): string {
  if (argv.includes("|") || !text.startsWith("Run: ")) return text;
  const [, ...rest] = text.split(/\n(?= {2}[a-z])/);
  return rest.join("\n");
}

function Arguments({ tool, json }: { tool: string; json: string }) {
  return (
    <div className={styles["arguments"]}>
      <Mono>{tool}</Mono>
      <JsonTree value={JSON.parse(json)} />
    </div>
  );
}

function reversalWords({ kind, how }: { readonly kind: string; readonly how: string }): string {
  const word = { reversible: "yes", irreversible: "no" }[kind] ?? "unknown";
  return `${word}, ${how}`;
}

/** Says “Sending…” until the record is another one. */
function useDecide({ id, plan_hash }: ApprovalRecord) {
  const [sending, setSending] = useState<Decision | null>(null);
  const [error, setError] = useState<CallError | null>(null);
  const decide = async (decision: Decision): Promise<void> => {
    setSending(decision);
    setError(null);
    try {
      await call("approvals.decide", { id, decision, plan_hash });
    } catch (failure) {
      const described = asCallError(failure);
      setError(described);
      setSending(null);
      // The card may be gone before anyone reads it there.
      if (described.code === "conflict") announce(textOf(described));
    }
    refresh("approvals.list", {});
  };
  return { sending, error, decide };
}
