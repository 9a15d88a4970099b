/**
 * Does a provider answer, and does it know the model? Asked by its list of models, which costs nothing (B4).
 *
 * A1. A run is let on (`check`) by any answer but a refused key (401). Small servers have no such list, some keep it from a
 *     key that may complete (403), and what is in trouble (5xx) may answer all the same: a completion is tried again, and
 *     says what was wrong.
 * A2. A yes holds for HEALTHY_FOR_MS. A no does not: whoever has just started the server is not told that it is down.
 *     Nor does the yes of a server in trouble.
 * A3. Whoever wants to know more (`inspect`) is told of trouble as well, and of a list that is there and lacks the model. What
 *     was not said about the model is no problem.
 * A4. The detail is ours, word for word.
 */
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ModelBackend } from "../../runtime/ports/model-backend.ts";
import type { ExchangeEnd, HttpOrigin } from "./http-exchange.ts";
import { isListed } from "./model-list.ts";

const HEALTHY_FOR_MS = 30_000;

interface Watched {
  readonly origin: HttpOrigin;
  /** What the server is called in a detail: its origin. */
  readonly name: string;
  readonly model: string;
  /** The variable that holds the key; null where nobody knows it. */
  readonly keyName: string | null;
  readonly path: string;
  /** Null where the key cannot be one. */
  readonly headers: () => readonly string[] | null;
  readonly clock: Clock;
}

export function watchHealth(watched: Watched): Pick<ModelBackend, "check" | "inspect"> {
  const { name, model, clock } = watched;
  let healthyUntilMs = Number.NEGATIVE_INFINITY;
  return {
    async check(signal) {
      if (clock.monotonicMs() < healthyUntilMs) return { responsive: true, detail: `${name} answered lately` };
      const asked = await askForList(watched, false, signal);
      if (!asked.ok) return { responsive: false, detail: asked.problem };
      if (asked.status < 500) healthyUntilMs = clock.monotonicMs() + HEALTHY_FOR_MS;
      return { responsive: true, detail: `${name} answers` };
    },
    async inspect(signal) {
      const asked = await askForList(watched, true, signal);
      if (!asked.ok) return { ok: false, detail: asked.problem };
      const { status, list } = asked;
      if (status >= 500) return { ok: false, detail: `${name} is in trouble (HTTP ${status}): try again later` };
      if (status !== 200) return { ok: true, detail: `${UNTOLD} (it shows no list: HTTP ${status})` };
      const isKnown = isListed(list, model);
      if (isKnown === null) return { ok: true, detail: `${UNTOLD} (its list is empty or missing)` };
      if (isKnown) return { ok: true, detail: "the provider answers and knows the model" };
      return { ok: false, detail: `${name} does not list the model ${model}: check its name` };
    },
  };
}

const UNTOLD = "the provider answers; whether it knows the model cannot be told";

type Asked =
  | { readonly ok: true; readonly status: number; readonly list: string }
  | { readonly ok: false; readonly problem: string };

async function askForList(watched: Watched, wantsList: boolean, signal: AbortSignal): Promise<Asked> {
  const { origin, name, keyName, path, headers } = watched;
  const sent = headers();
  if (sent === null) {
    return { ok: false, problem: `${keyName ?? `the API key for ${name}`} is empty or holds a space` };
  }
  let status = 0;
  let list = "";
  const decoder = new TextDecoder();
  const listener = {
    onHead: (head: { readonly status: number }) => {
      status = head.status;
      return wantsList && status === 200;
    },
    onBytes: (bytes: Uint8Array) => {
      list += decoder.decode(bytes, { stream: true });
      return true;
    },
  };
  const end = await origin.exchange({ method: "GET", path, headers: sent, body: null }, listener, signal);
  if (status === 0) return { ok: false, problem: `${name} ${whyUnreached(name, end)}` };
  if (status !== 401) return { ok: true, status, list };
  const where = keyName === null ? "" : ` in ${keyName}`;
  return { ok: false, problem: `${name} refused the API key (HTTP 401): set the right one${where}` };
}

function whyUnreached(name: string, end: ExchangeEnd): string {
  const isPlain = name.startsWith("http:");
  switch (end) {
    case "cancelled":
      return "did not answer in time";
    case "unreadable":
      return `does not speak HTTP: check baseUrl${isPlain ? ", which may have to begin with https" : ""}`;
    case "untrusted":
      return "has a certificate that is not trusted: check baseUrl and the certificate (NODE_EXTRA_CA_CERTS adds one)";
    case "no-tls":
      return "cannot be spoken to over TLS: check baseUrl, which may have to begin with http";
    case "connection-lost":
      return `broke the connection off: check baseUrl${isPlain ? ", which may have to begin with https" : ""}`;
    default:
      return "cannot be reached: is the server running, and baseUrl right?";
  }
}
