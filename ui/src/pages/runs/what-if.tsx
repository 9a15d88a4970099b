import { useState } from "react";
import type { ToolPolicy } from "../../../../src/kernel/policy/tool-policy.ts";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Field, TextArea } from "../../parts/field.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Table } from "../../parts/table.tsx";
import styles from "./run.module.css";

interface WhatIfProps {
  readonly id: string;
  /** As it was sealed into the run's contract. */
  readonly policy: ToolPolicy | null;
  readonly onClose: () => void;
}

type Found = AnswerOf<"runs.what-if">;

/** Puts an edited policy to the calls that are recorded. Nothing is saved, and nothing runs. */
export function WhatIf({ id, policy, onClose }: WhatIfProps) {
  const acting = useActing();
  const [text, setText] = useState(() => JSON.stringify(editable(policy), null, 2));
  const [found, setFound] = useState<Found | null>(null);
  const [everywhere, setEverywhere] = useState<AnswerOf<"policy.test"> | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const ask = (name: string, put: (edited: unknown) => Promise<void>): void => {
    const edited = parse(text);
    setProblem(edited.ok ? null : edited.problem);
    if (edited.ok) acting.run(name, () => put(edited.value));
  };
  return (
    <Dialog
      title="What if the policy were another?"
      onClose={onClose}
      actions={
        <>
          <Button
            blocked={acting.blocked}
            onClick={() =>
              ask("all", async (edited) => setEverywhere(await call("policy.test", { policy: edited } as never)))
            }
          >
            {acting.busy === "all" ? "Asking…" : "Ask of all runs"}
          </Button>
          <Button
            tone="primary"
            blocked={acting.blocked}
            onClick={() =>
              ask("run", async (edited) => setFound(await call("runs.what-if", { id, policy: edited } as never)))
            }
          >
            {acting.busy === "run" ? "Asking…" : "Ask of this run"}
          </Button>
        </>
      }
    >
      <div className={styles["whatif"]}>
        <Field
          label="tools.policy"
          hint="Begins as this run's policy. Nothing is saved, and nothing runs."
          error={problem}
        >
          {(control) => (
            <TextArea {...control} rows={12} value={text} onChange={(event) => setText(event.target.value)} />
          )}
        </Field>
        {acting.error !== null && <ErrorNote error={acting.error} />}
        {found !== null && <Calls found={found} />}
        {everywhere !== null && <p role="status">{wordsForAll(everywhere)}</p>}
      </div>
    </Dialog>
  );
}

function Calls({ found: { calls, changed } }: { found: Found }) {
  if (calls.length === 0) return <p role="status">This run proposed no calls, so no policy changes it.</p>;
  return (
    <>
      <p role="status">
        {changed === 0
          ? `None of its ${calls.length === 1 ? "1 call" : `${calls.length} calls`} would be decided otherwise.`
          : `${changed} of ${calls.length === 1 ? "1 call" : `${calls.length} calls`} would be decided otherwise.`}
      </p>
      <Table
        label="Recorded calls under the edited policy"
        rows={calls}
        keyOf={({ entry, call_id }) => `${entry} ${call_id}`}
        columns={[
          { title: "Entry", kind: "narrow", draw: ({ entry }) => entry },
          { title: "Call", kind: "narrow", draw: ({ tool }) => <HostileText text={tool} /> },
          { title: "Recorded", kind: "narrow", draw: ({ recorded }) => <Mono>{recorded}</Mono> },
          { title: "Policy then", kind: "narrow", draw: ({ policy_then }) => <Mono>{policy_then}</Mono> },
          {
            title: "Now",
            kind: "narrow",
            draw: ({ now, changed: isChanged }) => (
              <Mono>
                {now}
                {isChanged && ", changed"}
              </Mono>
            ),
          },
          { title: "Rule", draw: ({ rule }) => <Mono>{rule}</Mono> },
        ]}
      />
    </>
  );
}

function wordsForAll({ runs, total, changed, stops_asking, starts_asking, complete }: AnswerOf<"policy.test">): string {
  const looked = `${complete ? "All" : "The newest"} ${runs} recorded runs, ${total} calls: ${changed} would be decided otherwise`;
  return `${looked}; ${stops_asking} would stop asking, ${starts_asking} would ask.`;
}

/** What the config holds: the domains of the network are set elsewhere. */
function editable(policy: ToolPolicy | null): object {
  if (policy === null) return {};
  const { allowDomains: _elsewhere, ...rest } = policy;
  return rest;
}

function parse(
  text: string,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, problem: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
