import { Check, Minus } from "lucide-react";
import { useState } from "react";
import type { AnswerOf } from "../../data/client.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag } from "../../parts/tag.tsx";
import styles from "./policy.module.css";
import { CHANNELS, channelWords, type Exception, riskWords, type Verdict } from "./written-policy.ts";

type Grid = AnswerOf<"policy.get">;
type Channel = Grid["channels"][number]["channel"];
type Decided = Grid["channels"][number]["tools"][number];

interface Cell {
  readonly tool: string;
  readonly channel: Channel;
  readonly rows: readonly Decided[];
}

interface PolicyGridProps {
  readonly grid: Grid;
  readonly onExplain: (tool: string) => void;
  readonly onPropose: (exception: Exception) => void;
}

/** Tool by channel class: what happens to a call, and by which rule. */
export function PolicyGrid({ grid, onExplain, onPropose }: PolicyGridProps) {
  const [shown, setShown] = useState<Cell | null>(null);
  const tools = [...new Set(grid.channels.flatMap(({ tools: rows }) => rows.map(({ tool }) => tool)))].sort();
  const rowsOf = (tool: string, channel: Channel): readonly Decided[] =>
    grid.channels.find((each) => each.channel === channel)?.tools.filter((each) => each.tool === tool) ?? [];
  return (
    <Card title="What happens to a call" aside={<Legend />}>
      <Table
        label="Decisions by tool and channel class"
        isCompact
        rows={tools}
        keyOf={(tool) => tool}
        columns={[
          { title: "Tool", draw: (tool) => <Mono>{tool}</Mono> },
          ...CHANNELS.map(([channel, words]) => ({
            title: words,
            draw: (tool: string) => (
              <CellButton cell={{ tool, channel, rows: rowsOf(tool, channel) }} onOpen={setShown} />
            ),
          })),
        ]}
      />
      <Reach grid={grid} />
      {shown !== null && (
        <Dialog
          title={`${shown.tool}, ${channelWords(shown.channel).toLowerCase()}`}
          onClose={() => setShown(null)}
          actions={
            <>
              <Button
                onClick={() => {
                  onExplain(shown.tool);
                  setShown(null);
                }}
              >
                Explain a call
              </Button>
              <Button
                onClick={() => {
                  onPropose({ tool: shown.tool, channel: shown.channel, decision: "approve" });
                  setShown(null);
                }}
              >
                Write an exception…
              </Button>
            </>
          }
        >
          <ul className={styles["reasons"]}>
            {shown.rows.map((row) => (
              <li key={`${row.risk} ${row.policy_id} ${row.decision}`}>
                <p className={styles["reasonHead"]}>
                  <DecisionTag decision={row.decision} />
                  <span>{riskWords(row.risk)}</span>
                  <Mono>{row.policy_id}</Mono>
                </p>
                <p>{row.reason}</p>
              </li>
            ))}
          </ul>
        </Dialog>
      )}
    </Card>
  );
}

function CellButton({ cell, onOpen }: { cell: Cell; onOpen: (cell: Cell) => void }) {
  const { tool, channel, rows } = cell;
  const decisions = [...new Set(rows.map(({ decision }) => decision))];
  return (
    <button type="button" className={styles["cell"]} onClick={() => onOpen(cell)}>
      <span className="out-of-sight">
        {tool}, {channelWords(channel)}:{" "}
      </span>
      {decisions.map((decision) => (
        <DecisionTag key={decision} decision={decision} />
      ))}
    </button>
  );
}

const WORDS: Readonly<Record<Verdict, string>> = { allow: "runs", approve: "asks", deny: "denied" };

export function DecisionTag({ decision }: { decision: Verdict }) {
  if (decision === "approve") return <Tag tone="wait">{WORDS[decision]}</Tag>;
  const Icon = decision === "allow" ? Check : Minus;
  return <Tag icon={<Icon size={13} aria-hidden="true" />}>{WORDS[decision]}</Tag>;
}

function Legend() {
  return <span className={styles["minor"]}>Press a decision to see its rule.</span>;
}

function Reach({ grid: { commands, allow_domains, allow_addresses } }: { grid: Grid }) {
  return (
    <dl className={styles["reach"]}>
      <dt>Commands</dt>
      <dd>{commands.length === 0 ? "none" : <Mono>{commands.join(" ")}</Mono>}</dd>
      <dt>Hosts that a grant of net reaches</dt>
      <dd>{allow_domains === null ? "every public host" : <Mono>{allow_domains.join(" ") || "none"}</Mono>}</dd>
      {allow_addresses.length > 0 && (
        <>
          <dt>Private addresses</dt>
          <dd>
            <Mono>{allow_addresses.join(" ")}</Mono>
          </dd>
        </>
      )}
    </dl>
  );
}
