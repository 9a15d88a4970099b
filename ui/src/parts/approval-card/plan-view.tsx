/**
 * The whole plan of a call. Lines are those of the gateway: a heading, `name: value`, and quoted lines behind a bar, which
 * nothing quoted can imitate. Nothing is left out; it is only set apart.
 */
import { createElement, type ReactNode } from "react";
import { HostileText } from "../hostile-text.tsx";
import styles from "./approval-card.module.css";

type Part =
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "facts"; readonly rows: readonly (readonly [name: string, value: string])[] }
  | { readonly kind: "quoted"; readonly lines: readonly string[] };

interface PlanViewProps {
  readonly text: string;
  /** How quoted lines are meant: as they are, all of them new, or with their sign in front. */
  readonly quoted?: "plain" | "added" | "signed";
  /** Shown before the quoted text at the plan's end, which then opens on demand. */
  readonly instead?: ReactNode;
}

/** Children are spread, so they need no keys: a plan does not change in parts. */
export function PlanView({ text, quoted = "plain", instead = null }: PlanViewProps) {
  const parts = partsOf(text);
  const drawn = parts.map((part) => {
    if (part.kind === "line") return createElement("p", null, <HostileText text={part.text} isDeciding />);
    return part.kind === "facts" ? drawFacts(part.rows) : drawQuoted(part.lines, quoted);
  });
  const head = parts.at(-2);
  if (instead === null || head?.kind !== "line") return createElement("div", { className: styles["plan"] }, ...drawn);
  const whole = (
    <details className={styles["whole"]}>
      <summary>
        <HostileText text={head.text} isDeciding />
      </summary>
      {drawn.at(-1)}
    </details>
  );
  return createElement("div", { className: styles["plan"] }, ...drawn.slice(0, -2), instead, whole);
}

function drawFacts(rows: readonly (readonly [string, string])[]): ReactNode {
  const drawn = rows.map(([name, value]) =>
    createElement("div", null, <dt>{name}</dt>, createElement("dd", null, <HostileText text={value} isDeciding />)),
  );
  return createElement("dl", { className: styles["facts"] }, ...drawn);
}

const SIGNED: Readonly<Record<string, string | undefined>> = { "+": styles["added"], "-": styles["removed"] };

function drawQuoted(lines: readonly string[], meaning: "plain" | "added" | "signed"): ReactNode {
  const drawn = lines.map((line) => {
    const sign = meaning === "added" ? "+" : meaning === "signed" ? line.charAt(0) : "";
    const text = <HostileText text={meaning === "signed" ? line.slice(1) : line} isDeciding />;
    const shown = meaning === "plain" ? [text] : [createElement("span", { className: styles["sign"] }, sign), text];
    return createElement("span", { className: SIGNED[sign] }, ...shown);
  });
  return createElement("pre", { className: styles["quoted"] }, ...drawn);
}

const FACT = /^ {2}([a-z][a-z ]{0,20}):\s*(\S.*)$/;

function partsOf(text: string): readonly Part[] {
  const parts: Part[] = [];
  for (const line of text.split("\n")) {
    const last = parts.at(-1);
    const fact = FACT.exec(line);
    if (line.startsWith("| ") || line === "|") {
      const quoted = line.slice(2);
      if (last?.kind === "quoted") parts[parts.length - 1] = { kind: "quoted", lines: [...last.lines, quoted] };
      else parts.push({ kind: "quoted", lines: [quoted] });
    } else if (fact !== null) {
      const row = [fact[1] ?? "", fact[2] ?? ""] as const;
      if (last?.kind === "facts") parts[parts.length - 1] = { kind: "facts", rows: [...last.rows, row] };
      else parts.push({ kind: "facts", rows: [row] });
    } else {
      parts.push({ kind: "line", text: line.trim() });
    }
  }
  return parts;
}
