/** The web tools: `http.get` (S-4.1), and `web.search` if a search engine is configured. */
import type { Clock } from "../../../runtime/ports/clock.ts";
import type { Tool } from "../define-tool.ts";
import type { GuardedFetch, GuardedFetchOptions } from "./guarded-fetch.ts";
import { httpGetTool } from "./http-get.ts";
import { createPageCache } from "./page-cache.ts";
import { webSearchTool } from "./web-search.ts";

export interface HttpToolsOptions extends GuardedFetchOptions {
  readonly clock: Clock;
  /** How long a cached page is fresh; 0 disables the cache. */
  readonly ttlS: number;
  readonly cacheFile: string;
  /** A SearXNG instance; null for none. */
  readonly searchUrl: string | null;
  /** Before a page is kept. */
  readonly redactText?: ((text: string) => string) | undefined;
}

export function httpTools(options: HttpToolsOptions): readonly Tool[] {
  const { clock, ttlS, cacheFile, searchUrl, redactText } = options;
  let opening: Promise<GuardedFetch> | null = null;
  // Loaded on the first call, to keep start-up fast.
  const openFetch = async (): Promise<GuardedFetch> => {
    opening ??= import("./guarded-fetch.ts").then(({ createGuardedFetch }) => createGuardedFetch(options));
    return await opening;
  };
  const cache = createPageCache({ file: cacheFile, ttlS, clock, redactText });
  const httpGet = httpGetTool({ clock, openFetch, cache });
  return searchUrl === null ? [httpGet] : [httpGet, webSearchTool({ openFetch, searchUrl })];
}
