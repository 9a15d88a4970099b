import { Plus, X } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { useActing } from "../../data/acting.ts";
import { call } from "../../data/client.ts";
import { useConfigReview } from "../../data/config-review.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { ConfigReviewDialog } from "../../parts/config-review.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Field, FieldRow, Input, Select, TextArea } from "../../parts/field.tsx";
import { Tag } from "../../parts/tag.tsx";
import styles from "./policy.module.css";
import { type Tested, WhatIf } from "./policy-test.tsx";
import {
  CHANNELS,
  type Exception,
  isSame,
  patchOf,
  RISKS,
  VERDICTS,
  type Verdict,
  type WrittenPolicy,
} from "./written-policy.ts";

/** More runs than this are not asked: it answers in seconds. */
const TESTED_RUNS = 1_000;

/** Rules are edited here, put to what was recorded, looked at, and only then saved. */
export function RuleEditor({ current, proposed }: { current: WrittenPolicy; proposed: Exception | null }) {
  const [draft, setDraft] = useState<WrittenPolicy | null>(null);
  const [tested, setTested] = useState<{ readonly of: WrittenPolicy; readonly answer: Tested } | null>(null);
  const acting = useActing();
  const review = useConfigReview(() => setDraft(null));
  const place = useRef<HTMLDivElement>(null);
  const policy = draft ?? current;
  const isChanged = draft !== null && !isSame(draft, current);
  const answer = tested !== null && isSame(tested.of, policy) ? tested.answer : null;
  const edit = (change: Partial<WrittenPolicy>): void => setDraft({ ...policy, ...change });

  const first = useRef(current);
  useEffect(() => {
    if (proposed === null) return;
    setDraft((before) => {
      const base = before ?? first.current;
      return { ...base, exceptions: [...base.exceptions, proposed] };
    });
    place.current?.scrollIntoView({ block: "start" });
  }, [proposed]);

  const test = (): Promise<boolean> =>
    acting.run("test", async () => {
      setTested({ of: policy, answer: await call("policy.test", { policy, limit: TESTED_RUNS }) });
    });
  const notNow = acting.blocked ?? (isChanged ? null : "No rule is changed yet.");
  return (
    <div ref={place} className={styles["anchor"]}>
      <Card title="Rules" aside={isChanged && <Tag tone="wait">not saved</Tag>}>
        <div className={styles["form"]}>
          <Risks policy={policy} onEdit={edit} />
          <Exceptions exceptions={policy.exceptions} onEdit={(exceptions) => edit({ exceptions })} />
          <Lists policy={policy} onEdit={edit} />
          <div className={styles["actions"]}>
            <Button blocked={notNow} onClick={test}>
              {acting.busy === null ? "See what it would change" : "Reading the recorded runs…"}
            </Button>
            <Button
              tone="primary"
              blocked={notNow ?? review.acting.blocked ?? (answer === null ? "First see what it would change." : null)}
              onClick={() => review.check(patchOf(current, policy))}
            >
              Save…
            </Button>
            {isChanged && (
              <Button tone="quiet" onClick={() => setDraft(null)}>
                Discard
              </Button>
            )}
          </div>
          {acting.error !== null && <ErrorNote error={acting.error} />}
          {review.checked === null && review.acting.error !== null && <ErrorNote error={review.acting.error} />}
          {review.problems.map(({ path, message }) => (
            <p key={path + message} role="alert" className={styles["problem"]}>
              {path}: {message}
            </p>
          ))}
          {answer !== null && <WhatIf answer={answer} />}
        </div>
      </Card>
      <ConfigReviewDialog review={review} />
    </div>
  );
}

type Edit = (change: Partial<WrittenPolicy>) => void;

function Risks({ policy: { risk }, onEdit }: { policy: WrittenPolicy; onEdit: Edit }) {
  return (
    <section>
      <h3 className={styles["subhead"]}>Calls that no exception names</h3>
      <FieldRow>
        {RISKS.map(([each, words]) => (
          <Field key={each} label={words}>
            {(control) => (
              <Select
                {...control}
                value={risk[each]}
                options={VERDICTS}
                onChange={(verdict) => onEdit({ risk: { ...risk, [each]: verdict } })}
              />
            )}
          </Field>
        ))}
      </FieldRow>
    </section>
  );
}

interface ExceptionsProps {
  readonly exceptions: readonly Exception[];
  readonly onEdit: (exceptions: Exception[]) => void;
}

function Exceptions({ exceptions, onEdit }: ExceptionsProps) {
  const tools = useId();
  // Rules have no names: their place is what tells them apart.
  const placed = exceptions.map((exception, at) => ({ exception, at }));
  const change = (at: number, next: Exception): void =>
    onEdit(exceptions.map((each, index) => (index === at ? next : each)));
  return (
    <section>
      <h3 className={styles["subhead"]}>Exceptions</h3>
      <p className={styles["minor"]}>
        A tool (fs.write_text), a namespace (fs.*) or all (*). Where several match, the strictest counts. None opens
        what untrusted text has closed.
      </p>
      <ul className={styles["exceptions"]} id={tools}>
        {placed.map(({ exception, at }) => (
          <li key={at} className={styles["exception"]}>
            <Input
              isFact
              aria-label={`Tool of exception ${at + 1}`}
              value={exception.tool}
              onChange={(event) => change(at, { ...exception, tool: event.target.value })}
            />
            <Select
              aria-label={`Channel of exception ${at + 1}`}
              value={exception.channel ?? ""}
              options={[["", "from anywhere"], ...CHANNELS]}
              onChange={(channel) => change(at, withChannel(exception, channel))}
            />
            <Select
              aria-label={`Decision of exception ${at + 1}`}
              value={exception.decision}
              options={VERDICTS}
              onChange={(decision: Verdict) => change(at, { ...exception, decision })}
            />
            <Button
              tone="quiet"
              square
              aria-label={`Remove exception ${at + 1}`}
              onClick={() => onEdit(exceptions.filter((_, index) => index !== at))}
            >
              <X size={16} aria-hidden="true" />
            </Button>
          </li>
        ))}
      </ul>
      <Button onClick={() => onEdit([...exceptions, { tool: "", decision: "approve" }])}>
        <Plus size={16} aria-hidden="true" /> Add an exception
      </Button>
    </section>
  );
}

function withChannel({ tool, decision }: Exception, channel: "" | NonNullable<Exception["channel"]>): Exception {
  return { tool, decision, ...(channel === "" ? {} : { channel }) };
}

function Lists({ policy: { allow, channels }, onEdit }: { policy: WrittenPolicy; onEdit: Edit }) {
  return (
    <details className={styles["lists"]}>
      <summary>Which tools there are at all, and for whom</summary>
      <div className={styles["form"]}>
        <PatternList
          label="Tools that exist"
          hint="One a line. A tool that is not listed is denied everywhere."
          patterns={allow}
          onChange={(patterns) => onEdit({ allow: patterns })}
        />
        {CHANNELS.map(([channel, words]) => (
          <PatternList
            key={channel}
            label={words}
            hint={`Tools for ${words.toLowerCase()}, one a line; nothing else is for it.`}
            patterns={channels[channel] ?? []}
            onChange={(patterns) => onEdit({ channels: { ...channels, [channel]: patterns } })}
          />
        ))}
      </div>
    </details>
  );
}

interface PatternListProps {
  readonly label: string;
  readonly hint: string;
  readonly patterns: readonly string[];
  readonly onChange: (patterns: string[]) => void;
}

function PatternList({ label, hint, patterns, onChange }: PatternListProps) {
  const [text, setText] = useState<string | null>(null);
  const shown = text !== null && isSame(linesIn(text), patterns) ? text : patterns.join("\n");
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <TextArea
          {...control}
          value={shown}
          onChange={(event) => {
            setText(event.target.value);
            onChange(linesIn(event.target.value));
          }}
        />
      )}
    </Field>
  );
}

function linesIn(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
