/**
 * Turns a fetched body into text for a model: HTML becomes readable text, other text stays, and binary content is refused.
 * The text has at most MAX_TEXT_BYTES; `isCut` says that there was more, here or on the wire.
 */
import { truncateOutput } from "../../../kernel/vocabulary/truncate-output.ts";
import { ToolFailure } from "../tool-failure.ts";
import { decodeText } from "./decode-text.ts";
import type { Fetched } from "./guarded-fetch.ts";

export interface Page {
  readonly url: string;
  readonly contentType: string | null;
  readonly title: string | null;
  readonly text: string;
  readonly isCut: boolean;
}

/** More than any contract passes on. */
const MAX_TEXT_BYTES = 256 * 1024;
const HTML = /^(?:text\/html|application\/xhtml\+xml)$/;
const TEXT =
  /^(?:text\/.+|application\/(?:.+\+)?(?:json|xml|yaml|toml|javascript|ecmascript|x-yaml|x-ndjson|graphql|sql))$/;
const UNDECLARED = /^(?:|application\/octet-stream|binary\/octet-stream)$/;

export async function readPage({ url, contentType, bytes, isCut }: Fetched): Promise<Page> {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (HTML.test(type)) {
    // Loaded on the first page, since the parser is large.
    const { htmlToText } = await import("./html-to-text.ts");
    const readable = htmlToText(decodeText(bytes, contentType), url.href, MAX_TEXT_BYTES);
    return { ...readable, url: url.href, contentType, isCut: isCut || readable.isCut };
  }
  if (!TEXT.test(type) && !(UNDECLARED.test(type) && !bytes.includes(0))) throw notText(url.href, type);
  const { text, truncated } = truncateOutput(decodeText(bytes, contentType), MAX_TEXT_BYTES, "");
  return { url: url.href, contentType, title: null, text, isCut: isCut || truncated };
}

function notText(url: string, type: string): ToolFailure {
  const shown = /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type.slice(0, 100) : "an unknown type";
  return new ToolFailure("invalid.request", `${url} is ${shown}, not text: only text can be read.`);
}
