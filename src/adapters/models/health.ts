/**
 * Does a provider answer at all? Asked by listing its models, which costs nothing (B4).
 *
 * A1. Any answer below 500 counts, a 404 too: small servers have no such list. A refused key does not: no completion
 *     would come.
 * A2. A yes holds for HEALTHY_FOR_MS. A no does not: whoever has just started the server is not told that it is down.
 * A3. The detail is ours, word for word.
 */
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ModelBackend } from "../../runtime/ports/model-backend.ts";
import type { ExchangeEnd, HttpOrigin } from "./http-exchange.ts";

const HEALTHY_FOR_MS = 30_000;

interface Watched {
  readonly origin: HttpOrigin;
  /** What the server is called in a detail. */
  readonly name: string;
  readonly path: string;
  /** Null where the key cannot be one. */
  readonly headers: () => readonly string[] | null;
  readonly clock: Clock;
}

type Health = Awaited<ReturnType<ModelBackend["check"]>>;

export function watchHealth({ origin, name, path, headers, clock }: Watched): ModelBackend["check"] {
  let healthyUntilMs = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    if (clock.monotonicMs() < healthyUntilMs) return { responsive: true, detail: `${name} answered lately` };
    const asked = headers();
    if (asked === null) return { responsive: false, detail: `the API key for ${name} is empty or holds a space` };
    let status = 0;
    const listener = {
      onHead: (head: { readonly status: number }) => {
        status = head.status;
        return false;
      },
      onBytes: () => false,
    };
    const end = await origin.exchange({ method: "GET", path, headers: asked, body: null }, listener, signal);
    const health = status === 0 ? unreached(name, end) : judge(name, status);
    if (health.responsive) healthyUntilMs = clock.monotonicMs() + HEALTHY_FOR_MS;
    return health;
  };
}

function judge(name: string, status: number): Health {
  if (status === 401 || status === 403) {
    return { responsive: false, detail: `${name} refused the API key (HTTP ${status}): set the right one` };
  }
  if (status >= 500) return { responsive: false, detail: `${name} is in trouble (HTTP ${status}): try again later` };
  return { responsive: true, detail: `${name} answers` };
}

function unreached(name: string, end: ExchangeEnd): Health {
  if (end === "cancelled") return { responsive: false, detail: `${name} did not answer in time` };
  if (end === "unreadable") return { responsive: false, detail: `${name} does not speak HTTP: check baseUrl` };
  return { responsive: false, detail: `${name} cannot be reached: is the server running, and baseUrl right?` };
}
