/**
 * Converts a page to readable text: title, headings, paragraphs, lists, tables, links with their targets.
 *
 * Invisible content is dropped (scripts, styles, hidden elements), and so is site furniture (navigation, footers, form
 * controls). Nothing is fetched or run. A hostile page cannot take time or memory beyond fixed bounds, since this runs on
 * the main thread: text ends at its budget, nesting at MAX_DEPTH, input at MAX_CHARS and parser events at MAX_STEPS;
 * `isCut` says so. docs/dependencies.md says why no package does this.
 */
import { Parser } from "htmlparser2";
import { TextFlow } from "./text-flow.ts";

export interface ReadableText {
  readonly title: string | null;
  readonly text: string;
  readonly isCut: boolean;
}

const MAX_DEPTH = 256;
const MAX_CHARS = 1024 * 1024;
const MAX_STEPS = 40_000;
/** Parsing a link costs as much as this many tags. */
const LINK_STEPS = 5;
/** Feeds the parser in slices, so that the budget stops it early. */
const SLICE_CHARS = 16 * 1024;
const MAX_TITLE_CHARS = 300;
const MAX_LINK_CHARS = 500;
const MAX_INDENT = 8;

const names = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const DROPPED = names(
  "script style noscript template svg math iframe object canvas audio video nav footer select textarea button dialog",
);
const PARAGRAPHS = names(
  "p h1 h2 h3 h4 h5 h6 table blockquote pre section article main header aside figure form fieldset hr address details dl",
);
const LINES = names("div li tr dt dd figcaption summary caption legend ul ol body");
const HEADING = /^h[1-6]$/;
const HIDDEN_STYLE = /display\s*:\s*none|visibility\s*:\s*hidden/i;

type Attributes = Readonly<Record<string, string>>;

interface Element {
  readonly name: string;
  readonly isDropped: boolean;
  readonly isVerbatim: boolean;
  /** The target of a link, and the text length before it. */
  readonly link: { readonly url: string; readonly from: number } | null;
}

interface List {
  readonly isNumbered: boolean;
  items: number;
}

export function htmlToText(html: string, baseUrl: string, maxBytes: number): ReadableText {
  const page = new PageReader(baseUrl, maxBytes);
  const stopWhenCut = (): void => {
    if (page.isCut) parser.pause();
  };
  const count = (): void => {
    page.count(1);
    stopWhenCut();
  };
  const parser = new Parser({
    onopentag: (name, attributes) => {
      page.open(name, attributes);
      stopWhenCut();
    },
    onclosetag: () => page.close(),
    ontext: (text) => {
      page.read(text);
      count();
    },
    onattribute: count,
    oncomment: count,
    onprocessinginstruction: count,
  });
  for (const slice of slicesOf(html)) {
    if (page.isCut) break;
    parser.write(slice);
    // A closing tag without an opening one costs a scan of all open elements and raises no event.
    page.count(slice.split("</").length - 1);
  }
  if (html.length > MAX_CHARS) page.cut();
  // A cut page may end in half a tag, which the parser would report as text.
  if (!page.isCut) parser.end();
  return page.result;
}

/** Splits the page up to MAX_CHARS, between characters. */
function* slicesOf(html: string): Generator<string> {
  const last = Math.min(html.length, MAX_CHARS);
  for (let from = 0; from < last; ) {
    let to = Math.min(from + SLICE_CHARS, last);
    if (isHighSurrogate(html.charCodeAt(to - 1)) && to - 1 > from) to -= 1;
    yield html.slice(from, to);
    from = to;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

class PageReader {
  readonly #baseUrl: string;
  readonly #flow: TextFlow;
  readonly #open: Element[] = [];
  readonly #lists: List[] = [];
  #title = "";
  #steps = 0;
  #isOverLimit = false;

  constructor(baseUrl: string, maxBytes: number) {
    this.#baseUrl = baseUrl;
    this.#flow = new TextFlow(maxBytes);
  }

  get isCut(): boolean {
    return this.#isOverLimit || this.#flow.isFull;
  }

  cut(): void {
    this.#isOverLimit = true;
  }

  count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) this.cut();
  }

  get result(): ReadableText {
    const title = this.#title.replace(/\s+/g, " ").trim();
    return { title: title === "" ? null : title, text: this.#flow.toString(), isCut: this.isCut };
  }

  open(name: string, attributes: Attributes): void {
    const parent = this.#open.at(-1);
    const isDropped = parent?.isDropped === true || DROPPED.has(name) || isHidden(attributes);
    const isVerbatim = parent?.isVerbatim === true || name === "pre";
    const link = name === "a" && !isDropped ? this.#linkOf(attributes["href"]) : null;
    if (!isDropped) this.#startElement(name);
    this.#open.push({ name, isDropped, isVerbatim, link });
    if (this.#open.length > MAX_DEPTH) this.cut();
    this.count(link === null ? 1 : LINK_STEPS);
  }

  close(): void {
    const element = this.#open.pop();
    if (element === undefined || element.isDropped) return;
    const { name, link } = element;
    this.#breakAround(name);
    if (isList(name)) this.#lists.pop();
    if (name === "li" || HEADING.test(name)) this.#flow.begin("");
    if (link !== null && this.#flow.length > link.from && this.#flow.last !== link.url) {
      this.#flow.append(` (${link.url})`);
    }
  }

  read(text: string): void {
    const element = this.#open.at(-1);
    if (element?.isDropped === true) return;
    if (element?.name === "title") {
      this.#title = (this.#title + text).slice(0, MAX_TITLE_CHARS).toWellFormed();
    } else if (element?.isVerbatim === true) this.#flow.writeAsIs(text);
    else this.#flow.write(text);
  }

  #startElement(name: string): void {
    if (name === "br") this.#flow.breakLine();
    else if (name === "td" || name === "th") this.#flow.separate(" | ");
    else this.#breakAround(name);
    if (isList(name)) this.#lists.push({ isNumbered: name === "ol", items: 0 });
    if (HEADING.test(name)) this.#flow.begin(`${"#".repeat(Number(name[1]))} `);
    else if (name === "li") this.#flow.begin(this.#itemMark());
  }

  #breakAround(name: string): void {
    if (PARAGRAPHS.has(name)) this.#flow.breakLines(2);
    else if (LINES.has(name)) this.#flow.breakLines(1);
  }

  #itemMark(): string {
    const list = this.#lists.at(-1);
    const indent = "  ".repeat(Math.min(Math.max(this.#lists.length - 1, 0), MAX_INDENT));
    if (!list?.isNumbered) return `${indent}- `;
    list.items += 1;
    return `${indent}${list.items}. `;
  }

  #linkOf(href: string | undefined): Element["link"] {
    if (href === undefined || href.length > MAX_LINK_CHARS || href.trim().startsWith("#")) return null;
    const url = URL.parse(href, this.#baseUrl);
    if (url === null || !["http:", "https:", "mailto:"].includes(url.protocol)) return null;
    return url.href.length > MAX_LINK_CHARS ? null : { url: url.href, from: this.#flow.length };
  }
}

function isList(name: string): boolean {
  return name === "ul" || name === "ol";
}

function isHidden(attributes: Attributes): boolean {
  return (
    attributes["hidden"] !== undefined ||
    attributes["aria-hidden"] === "true" ||
    HIDDEN_STYLE.test(attributes["style"] ?? "")
  );
}
