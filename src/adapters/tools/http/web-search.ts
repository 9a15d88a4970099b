/**
 * `web.search`: results of a search engine through SearXNG's JSON API. The operator chooses the engine; the fetch is
 * guarded like any page and stays on its host. Results are untrusted: only a title, an http(s) URL and a snippet are
 * kept.
 */
import { Type } from "typebox";
import { UNTRUSTED_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { type JsonValue, parseJson } from "../../../kernel/vocabulary/parse-json.ts";
import { truncateOutput } from "../../../kernel/vocabulary/truncate-output.ts";
import { defineTool, fieldOf } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";
import { decodeText } from "./decode-text.ts";
import type { Fetched, GuardedFetch } from "./guarded-fetch.ts";
import { readUrl, type TargetUrl } from "./read-url.ts";

const DEFAULT_LIMIT = 8;
const MAX_LIMIT = 50;
const MAX_TITLE_BYTES = 300;
const MAX_SNIPPET_BYTES = 600;
const MAX_URL_CHARS = 2048;

const parameters = Type.Object(
  {
    query: Type.String({ minLength: 1, maxLength: 300 }),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
  },
  { additionalProperties: false },
);

interface WebSearchParts {
  readonly openFetch: () => Promise<GuardedFetch>;
  /** The SearXNG instance, without `/search`. */
  readonly searchUrl: string;
}

export function webSearchTool({ openFetch, searchUrl }: WebSearchParts) {
  return defineTool({
    name: "web.search",
    description: "Search the web: titles, URLs and snippets.",
    parameters,
    risk: "read_only",
    idempotency: "read_only",
    aliases: [{ name: "web_search" }],
    reachesHosts: true,
    async plan({ query, limit }) {
      const url = queryUrl(searchUrl, query);
      (await openFetch()).check(url);
      return {
        labels: UNTRUSTED_LABELS,
        egress: [url.host],
        shown: `Search the web for ${JSON.stringify(query)} (up to ${limit} results) through ${url.host}, port ${url.port}`,
        plan: { targets: [url.href] },
      };
    },
    async run({ args: { query, limit } }, { signal }) {
      const url = queryUrl(searchUrl, query);
      const fetch = await openFetch();
      const mayReach = (host: string): boolean => host === url.host;
      const fetched = await fetch.get({ url, mayReach, accept: "application/json", signal });
      return { query, results: resultsOf(fetched).slice(0, limit) };
    },
    summarize({ args }) {
      return `searched for ${fieldOf(args, "query") ?? "a query"}`;
    },
  });
}

function queryUrl(searchUrl: string, query: string): TargetUrl {
  const parameters = new URLSearchParams({ q: query.toWellFormed(), format: "json" });
  return readUrl(`${searchUrl.replace(/\/+$/, "")}/search?${parameters}`);
}

function resultsOf({ status, bytes, contentType, isCut }: Fetched): readonly JsonValue[] {
  if (status !== 200) {
    const advice = status === 403 ? "the operator must add json to search.formats in its settings" : "try again later";
    throw new ToolFailure("invalid.request", `The search engine answered ${status}: ${advice}.`, {
      details: { status },
      retryable: status !== 403,
    });
  }
  const parsed = isCut ? null : parseJson(decodeText(bytes, contentType), { maxChars: bytes.length });
  const answer = parsed?.ok ? parsed.value : null;
  const results: unknown =
    typeof answer === "object" && answer !== null && "results" in answer ? answer["results"] : null;
  if (!Array.isArray(results)) {
    throw new ToolFailure(
      "invalid.request",
      "The search engine did not answer with SearXNG's JSON: the operator should check tools.search.url.",
    );
  }
  return results.flatMap(readResult);
}

function readResult(result: unknown): readonly JsonValue[] {
  const url = URL.parse(String(fieldOf(result, "url") ?? ""));
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.href.length > MAX_URL_CHARS) return [];
  const title = shown(fieldOf(result, "title"), MAX_TITLE_BYTES);
  const snippet = shown(fieldOf(result, "content"), MAX_SNIPPET_BYTES);
  return [{ title, url: url.href, snippet }];
}

function shown(value: string | number | undefined, maxBytes: number): string {
  return truncateOutput(
    String(value ?? "")
      .replace(/\s+/g, " ")
      .trim(),
    maxBytes,
    "…",
  ).text;
}
