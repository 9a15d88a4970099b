/**
 * `http.get`: a web page, as text. Policy decides about the host before `run`, and so before the cache is read. A
 * redirect to another host needs a new call. Every HTTP status is a result.
 */
import { Type } from "typebox";
import { UNTRUSTED_LABELS } from "../../../kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../../kernel/vocabulary/parse-json.ts";
import { type Clock, timestampOf } from "../../../runtime/ports/clock.ts";
import { defineTool, fieldOf } from "../define-tool.ts";
import type { Fetched, GuardedFetch } from "./guarded-fetch.ts";
import type { CachedPage, PageCache } from "./page-cache.ts";
import { readPage } from "./read-page.ts";
import { readUrl } from "./read-url.ts";

const ACCEPT = "text/html, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5";

const parameters = Type.Object(
  {
    url: Type.String({ minLength: 1, description: "http or https" }),
    use_cache: Type.Optional(Type.Boolean({ default: true })),
  },
  { additionalProperties: false },
);

interface HttpGetParts {
  readonly clock: Pick<Clock, "nowMs">;
  readonly openFetch: () => Promise<GuardedFetch>;
  readonly cache: PageCache;
}

export function httpGetTool({ clock, openFetch, cache }: HttpGetParts) {
  return defineTool({
    name: "http.get",
    description: "Fetch a web page as readable text.",
    parameters,
    risk: "read_only",
    idempotency: "read_only",
    aliases: [{ name: "web_fetch" }],
    volatileFields: ["fetched_at", "from_cache"],
    reachesHosts: true,
    async plan({ url: text, use_cache: useCache }) {
      const url = readUrl(text);
      (await openFetch()).check(url);
      return {
        labels: UNTRUSTED_LABELS,
        egress: [url.host],
        shown: `Fetch ${url.href} from ${url.host}, port ${url.port}${useCache ? "" : ", without the cache"}`,
        plan: { targets: [url.href] },
      };
    },
    async run({ args: { url: text, use_cache: useCache } }, { signal }) {
      const url = readUrl(text);
      const cached = useCache ? cache.read(url.href) : null;
      if (cached !== null) return toOutput(cached, 200, true);
      const fetched = await (await openFetch()).get({
        url,
        mayReach: (host) => host === url.host,
        accept: ACCEPT,
        signal,
      });
      const page = await readPage(fetched);
      if (isCacheable(fetched)) cache.write(url.href, page);
      return toOutput({ page, fetchedAtMs: clock.nowMs() }, fetched.status, false);
    },
    summarize({ args, output }) {
      const status = fieldOf(output, "status");
      const url = fieldOf(output, "url") ?? fieldOf(args, "url") ?? "a page";
      return status === undefined ? `fetched ${url}` : `fetched ${url} (${status})`;
    },
  });
}

function isCacheable({ status, cacheControl }: Fetched): boolean {
  return status === 200 && !/\bno-store\b/i.test(cacheControl ?? "");
}

function toOutput({ page, fetchedAtMs }: CachedPage, status: number, fromCache: boolean): JsonValue {
  return {
    url: page.url,
    status,
    content_type: page.contentType,
    title: page.title,
    text: page.text,
    truncated: page.isCut,
    from_cache: fromCache,
    fetched_at: timestampOf(fetchedAtMs),
  };
}
