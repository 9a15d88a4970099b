import { createElement, type ReactNode, useEffect, useState } from "react";
import styles from "./code-block.module.css";
import type { Highlighted } from "./highlight.ts";
import { HostileText } from "./hostile-text.tsx";

const MAX_CHARS = 20_000;

/** Code in ink: weights instead of colours. The highlighter is loaded with the first code that names its language. */
export function CodeBlock({ text, language }: { text: string; language: string }) {
  const [drawn, setDrawn] = useState<{ readonly text: string; readonly parts: readonly Highlighted[] } | null>(null);
  const name = /^[\w+#-]{1,20}/.exec(language)?.[0]?.toLowerCase();
  useEffect(() => {
    if (name === undefined || text.length > MAX_CHARS) return;
    let isWanted = true;
    import("./highlight.ts").then(
      ({ highlight }) => {
        const parts = highlight(name, text);
        if (isWanted && parts !== null) setDrawn({ text, parts });
      },
      // Without the highlighter the code is plain, and just as readable.
      () => {},
    );
    return () => {
      isWanted = false;
    };
  }, [name, text]);
  const children = drawn?.text === text ? drawn.parts.map(draw) : [<HostileText key="text" text={text} />];
  return (
    // It can be scrolled, so the keyboard has to reach it.
    <section className={styles["block"]} tabIndex={0} aria-label={name === undefined ? "Code" : `Code, ${name}`}>
      <pre>{createElement("code", null, ...children)}</pre>
    </section>
  );
}

function draw(part: Highlighted): ReactNode {
  if (typeof part === "string") return createElement(HostileText, { text: part });
  return createElement("span", { className: part.className }, ...part.children.map(draw));
}
