/**
 * Markdown in pieces that are worth remembering one by one: what stands below one heading, with the headings above it. A long
 * piece is split between paragraphs; front matter and pieces without text are left out.
 */
import { MAX_MEMORY_CHARS } from "../../runtime/memory/memory-rules.ts";

/** Short enough to be found by what it says. */
const PIECE_CHARS = 1_500;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*\s*$/;
const FENCE = /^\s*(?:```|~~~)/;

/** `title` stands before each piece: the file, or the day of a note. */
export function chunkMarkdown(markdown: string, title: string): readonly string[] {
  const text = markdown
    .replace(/^\uFEFF/, "")
    .replace(/^---\n.*?\n---\n/s, "")
    .replaceAll("\r\n", "\n");
  const pieces: string[] = [];
  const headings: string[] = [];
  let lines: string[] = [];
  let isCode = false;
  const close = (): void => {
    const place = [title, ...headings.filter((each) => each !== undefined && each !== "")].join(" > ");
    for (const body of split(lines.join("\n").trim())) pieces.push(`${place}\n${body}`.slice(0, MAX_MEMORY_CHARS));
    lines = [];
  };
  for (const line of text.split("\n")) {
    if (FENCE.test(line)) isCode = !isCode;
    const [, marks = "", heading = ""] = isCode ? [] : (HEADING.exec(line) ?? []);
    if (marks === "") {
      lines.push(line);
      continue;
    }
    close();
    headings.length = Math.min(headings.length, marks.length - 1);
    headings[marks.length - 1] = heading;
  }
  close();
  return pieces;
}

/** Between paragraphs, else between lines, else anywhere. */
function split(body: string): readonly string[] {
  if (body === "") return [];
  if (body.length <= PIECE_CHARS) return [body];
  const parts: string[] = [];
  let part = "";
  for (const paragraph of body.split(/\n{2,}/).flatMap((each) => (each.length > PIECE_CHARS ? cut(each) : [each]))) {
    if (part !== "" && part.length + paragraph.length + 2 > PIECE_CHARS) {
      parts.push(part);
      part = "";
    }
    part = part === "" ? paragraph : `${part}\n\n${paragraph}`;
  }
  return part === "" ? parts : [...parts, part];
}

function cut(paragraph: string): readonly string[] {
  const parts: string[] = [];
  let rest = paragraph;
  while (rest.length > PIECE_CHARS) {
    const at = rest.lastIndexOf("\n", PIECE_CHARS);
    const end = at > 0 ? at : PIECE_CHARS;
    parts.push(rest.slice(0, end).toWellFormed());
    rest = rest.slice(end).trimStart();
  }
  return rest === "" ? parts : [...parts, rest];
}
