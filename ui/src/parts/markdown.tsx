/**
 * Markdown of others as elements of ours. HTML in it is text, images are not loaded, and links show where they lead. It has no
 * colours of states, no buttons and no headings of the page: it cannot look like the page around it.
 */
import type { Token, Tokens } from "marked";
import { createElement, memo, type ReactNode, useRef } from "react";
import { CodeBlock } from "./code-block.tsx";
import { decodeEntities } from "./entities.ts";
import { HostileText } from "./hostile-text.tsx";
import styles from "./markdown.module.css";
import { type Lexed, lexOn, NOTHING_LEXED } from "./markdown-blocks.ts";

/** Deeper than people write. */
const MAX_DEPTH = 24;
const LINKED = new Set(["http:", "https:", "mailto:"]);

/** Turns `[memory:ID]` and the like into elements; text it does not know stays text. */
export type InText = (text: string) => ReactNode;

interface MarkdownProps {
  readonly text: string;
  readonly inText?: InText;
}

export function Markdown({ text, inText = plain }: MarkdownProps) {
  const lexed = useLexed(text);
  if (lexed.blocks === null) {
    return (
      <div className={styles["plain"]}>
        <HostileText text={text} />
      </div>
    );
  }
  return (
    <div className={styles["markdown"]}>
      {lexed.blocks.map(({ at, token }) => (
        <BlockView key={at} token={token} inText={inText} />
      ))}
    </div>
  );
}

function plain(text: string): ReactNode {
  return <HostileText text={text} />;
}

function useLexed(text: string): Lexed {
  const before = useRef(NOTHING_LEXED);
  const lexed = lexOn(before.current, text);
  before.current = lexed;
  return lexed;
}

const BlockView = memo(({ token, inText }: { token: Token; inText: InText }) => drawBlock(token, { inText, depth: 0 }));

interface Place {
  readonly inText: InText;
  readonly depth: number;
}

const deeper = (place: Place): Place => ({ ...place, depth: place.depth + 1 });

function drawAll(tokens: readonly Token[] | undefined, place: Place): readonly ReactNode[] {
  return (tokens ?? []).map((token) => drawBlock(token, place));
}

/** Children are spread, so they need no keys: a block is drawn anew as a whole. */
function element(tag: string, children: readonly ReactNode[], properties: object = {}): ReactNode {
  return createElement(tag, properties, ...children);
}

function drawBlock(token: Token, place: Place): ReactNode {
  if (place.depth > MAX_DEPTH) return element("p", [plain(token.raw)]);
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return element("p", drawInline(token.tokens, place), { className: styles["heading"] });
    case "paragraph":
      return element("p", drawInline(token.tokens, place));
    case "text":
      return element(
        "span",
        token["tokens"] === undefined ? [drawText(token["text"], place)] : drawInline(token["tokens"], place),
      );
    case "blockquote":
      return element("blockquote", drawAll(token.tokens, deeper(place)));
    case "code":
      return <CodeBlock text={token["text"]} language={token["lang"] ?? ""} />;
    case "hr":
      return <hr />;
    case "list":
      return drawList(token as Tokens.List, place);
    case "table":
      return drawTable(token as Tokens.Table, place);
    default:
      return element("p", [plain(token.raw)]);
  }
}

function drawList({ ordered, start, items }: Tokens.List, place: Place): ReactNode {
  const rows = items.map((item) => {
    const box = item.task ? [item.checked === true ? "☑ " : "☐ "] : [];
    const tokens = item.tokens.filter(({ type }) => type !== "checkbox");
    return element("li", [...box, ...drawAll(tokens, deeper(place))]);
  });
  return element(ordered ? "ol" : "ul", rows, ordered && start !== "" && start !== 1 ? { start } : {});
}

function drawTable({ header, rows, align }: Tokens.Table, place: Place): ReactNode {
  const cell = (tag: "th" | "td") => (tableCell: Tokens.TableCell, at: number) =>
    element(tag, drawInline(tableCell.tokens, place), align[at] == null ? {} : { style: { textAlign: align[at] } });
  const body = rows.map((row) => element("tr", row.map(cell("td"))));
  return (
    // It can be scrolled, so the keyboard has to reach it.
    <section className={styles["wide"]} aria-label="Table" tabIndex={0}>
      {element("table", [element("thead", [element("tr", header.map(cell("th")))]), element("tbody", body)])}
    </section>
  );
}

function drawInline(tokens: readonly Token[] | undefined, place: Place): readonly ReactNode[] {
  return (tokens ?? []).map((token) => drawSpan(token, deeper(place)));
}

function drawSpan(token: Token, place: Place): ReactNode {
  if (place.depth > MAX_DEPTH) return plain(token.raw);
  switch (token.type) {
    case "text":
      return token["tokens"] === undefined
        ? drawText(token["text"], place)
        : element("span", drawInline(token["tokens"], place));
    case "escape":
      return plain(token["text"]);
    case "strong":
    case "em":
    case "del":
      return element(token.type, drawInline(token.tokens, place));
    case "codespan":
      return element("code", [plain(token["text"])]);
    case "br":
      return <br />;
    case "link":
      return drawLink(token as Tokens.Link, place);
    case "image":
      return drawImage(token as Tokens.Image);
    default:
      return plain(token.raw);
  }
}

function drawText(text: string, { inText }: Place): ReactNode {
  return inText(decodeEntities(text));
}

function drawLink({ href, tokens, text }: Tokens.Link, place: Place): ReactNode {
  const url = URL.parse(href);
  const label = drawInline(tokens, place);
  if (url === null || !LINKED.has(url.protocol)) return element("span", [...label, " (", plain(href), ")"]);
  const where = url.protocol === "mailto:" ? url.pathname : url.host;
  const isShown = text === href || text === where;
  const link = element("a", label, { href: url.href, target: "_blank", rel: "noopener noreferrer" });
  return isShown
    ? link
    : element("span", [link, " ", element("span", ["(", plain(where), ")"], { className: styles["host"] })]);
}

function drawImage({ href }: Tokens.Image): ReactNode {
  const host = URL.parse(href)?.host ?? "";
  return element("span", ["[image not loaded: ", plain(host === "" ? "no host" : host), "]"], {
    className: styles["host"],
  });
}
