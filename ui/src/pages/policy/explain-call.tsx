import { useState } from "react";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Facts } from "../../parts/facts.tsx";
import { CheckBox, Field, FieldRow, Select, TextArea } from "../../parts/field.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono } from "../../parts/mono.tsx";
import styles from "./policy.module.css";
import { DecisionTag } from "./policy-grid.tsx";
import { CHANNELS, riskWords } from "./written-policy.ts";

type Explained = AnswerOf<"policy.explain">;
type Channel = Explained["channel"];

/** "Why was this denied?": one call, planned for real and not made. */
export function ExplainCall({ tool: asked }: { tool: string | null }) {
  const tools = useRecord("tools.list", {}).value?.tools ?? [];
  const sessions = useRecord("sessions.list", { limit: 50 }).value?.sessions ?? [];
  const [chosen, setChosen] = useState(asked);
  const [written, setWritten] = useState<string | null>(null);
  const [channel, setChannel] = useState<Channel>("cli_local");
  const [session, setSession] = useState("");
  const [isUntrusted, setUntrusted] = useState(false);
  const [answer, setAnswer] = useState<Explained | null>(null);
  const acting = useActing();
  const tool = tools.find(({ name }) => name === chosen) ?? tools[0];
  if (tool === undefined) return null;
  const text = written ?? skeletonOf(tool.parameters);
  const args = parseArguments(text);
  const problem = args === null ? "This is not a JSON object. Names and texts stand in double quotes." : null;

  const explain = (): Promise<boolean> =>
    acting.run("explain", async () => {
      setAnswer(null);
      const of = session === "" ? {} : { session_id: session };
      setAnswer(
        await call("policy.explain", { tool: tool.name, args: args ?? {}, channel, untrusted: isUntrusted, ...of }),
      );
    });
  return (
    <Card title="Why was this denied?" aside={<span className={styles["minor"]}>Asks the policy; makes no call.</span>}>
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (acting.blocked === null && problem === null) explain();
        }}
      >
        <FieldRow>
          <Field label="Tool">
            {(control) => (
              <Select
                {...control}
                value={tool.name}
                options={tools.map(({ name }) => [name, name])}
                onChange={(name) => {
                  setChosen(name);
                  setWritten(null);
                  setAnswer(null);
                }}
              />
            )}
          </Field>
          <Field label="Asked from">
            {(control) => <Select {...control} value={channel} options={CHANNELS} onChange={setChannel} />}
          </Field>
          <Field label="With the grants of">
            {(control) => (
              <Select
                {...control}
                value={session}
                options={[
                  ["", "no session"],
                  ...sessions.map(({ id, title }) => [id, title ?? `Untitled ${id.slice(-6)}`] as const),
                ]}
                onChange={setSession}
              />
            )}
          </Field>
        </FieldRow>
        <Field label="Arguments" hint={tool.description} error={problem}>
          {(control) => (
            <TextArea {...control} rows={3} value={text} onChange={(event) => setWritten(event.target.value)} />
          )}
        </Field>
        <CheckBox isOn={isUntrusted} onChange={setUntrusted}>
          As if the run had read untrusted text before
        </CheckBox>
        <div>
          <Button submits blocked={acting.blocked ?? problem}>
            {acting.busy === null ? "Explain" : "Sending…"}
          </Button>
        </div>
      </form>
      {acting.error !== null && <ErrorNote error={acting.error} />}
      {answer !== null && <Answer answer={answer} />}
    </Card>
  );
}

function Answer({ answer }: { answer: Explained }) {
  const { decision, policy_id, reason, code, risk, reaches, targets, labels, plan } = answer;
  return (
    <section className={styles["answer"]} aria-label="Explanation" role="status">
      <p className={styles["reasonHead"]}>
        <DecisionTag decision={decision} />
        <Mono>{code ?? policy_id}</Mono>
      </p>
      <p>{reason}</p>
      <Facts
        rows={[
          ...(risk === null ? [] : [["The call", riskWords(risk)] as const]),
          ...(reaches.length === 0
            ? []
            : [["Reaches", <HostileText key="at" text={reaches.join(", ")} isDeciding />] as const]),
          ...(targets.length === 0
            ? []
            : [["Touches", <HostileText key="at" text={targets.join(", ")} isDeciding />] as const]),
          ["The run has read", `${labels.integrity}, ${labels.confidentiality}`],
        ]}
      />
      {plan !== null && (
        <pre className={styles["plan"]} tabIndex={0} aria-label="The plan as you would be asked">
          <HostileText text={plan} isDeciding />
        </pre>
      )}
    </section>
  );
}

/** The required arguments of a tool, to be filled in. */
function skeletonOf(parameters: object): string {
  const { properties = {}, required = [] } = parameters as {
    readonly properties?: Readonly<Record<string, { readonly type?: string }>>;
    readonly required?: readonly string[];
  };
  const empty = (name: string): unknown => {
    const type = properties[name]?.type;
    if (type === "array") return [];
    if (type === "object") return {};
    if (type === "boolean") return false;
    return type === "number" || type === "integer" ? 0 : "";
  };
  return JSON.stringify(Object.fromEntries(required.map((name) => [name, empty(name)])), null, 2);
}

function parseArguments(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : null;
  } catch {
    return null;
  }
}
