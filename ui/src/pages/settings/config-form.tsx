import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { useConfigReview } from "../../data/config-review.ts";
import { useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { ConfigReviewDialog } from "../../parts/config-review.tsx";
import { ErrorNote, Problem } from "../../parts/error-note.tsx";
import { CheckBox, Field, Input, Select, TextArea } from "../../parts/field.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Tag } from "../../parts/tag.tsx";
import { type Leaf, leavesOf, patchWith, valueIn, valueWritten, type Written, writtenOf } from "./config-leaves.ts";
import styles from "./settings.module.css";

type Edits = ReadonlyMap<string, Written>;

/** Every setting there is, made from the schema. Edits are checked whole, shown as a difference, and then saved. */
export function ConfigForm() {
  const schema = useRecord("config.schema", {});
  const config = useRecord("config.get", {});
  const [edits, setEdits] = useState<Edits>(new Map());
  const [wanted, setWanted] = useState("");
  const [unread, setUnread] = useState<ReadonlyMap<string, string>>(new Map());
  const review = useConfigReview(() => setEdits(new Map()));
  const error = schema.error ?? config.error;
  if (error !== null) return <ErrorNote error={error} />;
  if (schema.value === undefined || config.value === undefined) return <Skeleton rows={6} />;

  const document = config.value;
  const leaves = leavesOf(schema.value);
  const problemOf = ({ name }: Leaf): string | null =>
    unread.get(name) ?? review.problems.find(({ path }) => isAtOrBelow(path, name))?.message ?? null;
  const loose = review.problems.filter(({ path }) => !leaves.some(({ name }) => isAtOrBelow(path, name)));
  const isFound = ({ name }: Leaf): boolean => name.toLowerCase().includes(wanted.trim().toLowerCase());
  const sections = Map.groupBy(leaves.filter(isFound), ({ path }) => path[0] ?? "");
  const edited = leaves.filter(({ name }) => edits.has(name));

  const edit = (leaf: Leaf, written: Written): void => {
    const next = new Map(edits);
    if (written === writtenOf(valueIn(document, leaf.path), leaf)) next.delete(leaf.name);
    else next.set(leaf.name, written);
    setEdits(next);
  };
  const check = (): void => {
    const problems = new Map<string, string>();
    const values = edited.flatMap((leaf) => {
      try {
        return [{ leaf, value: valueWritten(edits.get(leaf.name) ?? "", leaf) }];
      } catch {
        problems.set(leaf.name, "This is no JSON. Names and texts stand in double quotes.");
        return [];
      }
    });
    setUnread(problems);
    if (problems.size === 0) review.check(patchWith(document, values));
  };
  const notNow = review.acting.blocked ?? (edited.length === 0 ? "Nothing is changed yet." : null);
  return (
    <form
      className={styles["config"]}
      onSubmit={(event) => {
        event.preventDefault();
        if (notNow === null) check();
      }}
    >
      <Input
        type="search"
        aria-label="Find a setting"
        placeholder="Find a setting"
        value={wanted}
        onChange={(event) => setWanted(event.target.value)}
      />
      <div className={styles["sections"]}>
        {[...sections].map(([section, found]) => (
          <details
            key={section}
            className={styles["section"]}
            open={wanted !== "" || found.some((leaf) => edits.has(leaf.name) || problemOf(leaf) !== null)}
          >
            <summary>
              <ChevronRight size={16} aria-hidden="true" />
              <span className={styles["sectionName"]}>{section}</span>
              <span className={styles["minor"]}>{SECTIONS[section] ?? ""}</span>
            </summary>
            <div className={styles["fields"]}>
              {found.map((leaf) => (
                <LeafField
                  key={leaf.name}
                  leaf={leaf}
                  isEdited={edits.has(leaf.name)}
                  written={edits.get(leaf.name) ?? writtenOf(valueIn(document, leaf.path), leaf)}
                  problem={problemOf(leaf)}
                  onEdit={(written) => edit(leaf, written)}
                />
              ))}
            </div>
          </details>
        ))}
      </div>
      {sections.size === 0 && <p className={styles["minor"]}>No setting is called that.</p>}
      <div className={styles["foot"]}>
        {review.checked === null && review.acting.error !== null && <ErrorNote error={review.acting.error} />}
        {loose.map(({ path, message }) => (
          <Problem key={path + message} happened={path === "" ? message : `${path}: ${message}`} />
        ))}
        {review.problems.length > 0 && loose.length === 0 && (
          <Problem happened={problemWords(review.problems.length)} advice="Nothing was changed." />
        )}
        <div className={styles["actions"]}>
          <Button tone="primary" submits blocked={notNow}>
            {review.acting.busy === "check" ? "Checking…" : "Review and save…"}
          </Button>
          {edited.length > 0 && (
            <>
              <Button tone="quiet" onClick={() => setEdits(new Map())}>
                Discard
              </Button>
              <Tag tone="wait">{edited.length === 1 ? "1 setting" : `${edited.length} settings`} not saved</Tag>
            </>
          )}
        </div>
      </div>
      <ConfigReviewDialog review={review} />
    </form>
  );
}

interface LeafFieldProps {
  readonly leaf: Leaf;
  readonly written: Written;
  readonly isEdited: boolean;
  readonly problem: string | null;
  readonly onEdit: (written: Written) => void;
}

function LeafField({ leaf, written, isEdited, problem, onEdit }: LeafFieldProps) {
  const { kind, choices, hint, path } = leaf;
  const label = (
    <>
      <span className={styles["leaf"]}>{path.slice(1).join(".") || path[0]}</span>
      {isEdited && <span className={styles["edited"]}> changed</span>}
    </>
  );
  if (kind === "flag") {
    return (
      <div className={styles["field"]}>
        <CheckBox isOn={written === true} onChange={onEdit}>
          {label}
        </CheckBox>
        {problem !== null && <span className={styles["problem"]}>{problem}</span>}
      </div>
    );
  }
  const text = String(written);
  const isLong = kind === "list" || kind === "json" || text.includes("\n") || text.length > 120;
  return (
    <div className={isLong ? styles["wide"] : styles["field"]}>
      <Field label={label} {...(hint === "" ? {} : { hint })} error={problem}>
        {(control) => {
          if (kind === "choice") {
            const options = choices.map((choice) => [choice, choice] as const);
            return (
              <Select
                {...control}
                value={text}
                options={text === "" ? [["", "not set"] as const, ...options] : options}
                onChange={onEdit}
              />
            );
          }
          if (isLong) return <TextArea {...control} value={text} onChange={(event) => onEdit(event.target.value)} />;
          return (
            <Input
              {...control}
              isFact={kind === "text"}
              inputMode={kind === "text" ? undefined : "decimal"}
              placeholder="not set"
              value={text}
              onChange={(event) => onEdit(event.target.value)}
            />
          );
        }}
      </Field>
    </div>
  );
}

/** `a.b` is at `a.b`, and so are `a.b.c` and `a.b["x"]`. */
function isAtOrBelow(path: string, name: string): boolean {
  return path === name || (path.startsWith(name) && /^[.[]/.test(path.slice(name.length)));
}

function problemWords(count: number): string {
  return count === 1 ? "One setting needs another value." : `${count} settings need another value.`;
}

const SECTIONS: Readonly<Record<string, string>> = {
  models: "providers, their models, and the default",
  gateway: "address, queue, rate limit",
  agents: "prompt, model and context of each agent",
  approvals: "how long a question waits",
  sessions: "when a conversation is idle, and what is kept of it",
  identities: "one person behind several senders",
  output: "what is shown of a model's thinking",
  channels: "webhooks that messages come from",
  budgets: "limits in dollars and tokens",
  redaction: "what is taken out of texts",
  tools: "workspace, commands, hosts, policy",
  logging: "how much is logged",
};
