/**
 * Whether a provider answers and knows the model, asked through its list of models, which costs nothing (B4).
 *
 * A1. `check` lets a run start on any answer except a refused key (401). Small servers have no list, some hide it from
 *     keys that may complete (403), and a server that answers 5xx may still complete: a completion is retried and reports
 *     what was wrong.
 * A2. A positive answer is cached for HEALTHY_FOR_MS, except that of a server that answers 5xx. A negative one is not: the
 *     server may have just been started.
 * A3. `inspect` also reports a 5xx, and a list that lacks the model. A missing list is not a problem.
 * A4. The detail never quotes the provider.
 */
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ModelBackend } from "../../runtime/ports/model-backend.ts";
import type { ExchangeEnd, HttpOrigin } from "./http-exchange.ts";
import { entriesOf, fieldsOf, parseFields, textOf } from "./wire-fields.ts";

const HEALTHY_FOR_MS = 30_000;

interface HealthTarget {
  readonly origin: HttpOrigin;
  /** The server's name in a detail: its origin. */
  readonly name: string;
  readonly model: string;
  /** The variable that holds the key; null if unknown. */
  readonly keyName: string | null;
  readonly path: string;
  /** Null if the key is malformed. */
  readonly headers: () => readonly string[] | null;
  readonly clock: Clock;
}

export function healthChecks(target: HealthTarget): Pick<ModelBackend, "check" | "inspect"> {
  const { name, model, clock } = target;
  let healthyUntilMs = Number.NEGATIVE_INFINITY;
  return {
    async check(signal) {
      if (clock.monotonicMs() < healthyUntilMs) return { responsive: true, detail: `${name} answered recently` };
      const asked = await askForList(target, false, signal);
      if (!asked.ok) return { responsive: false, detail: asked.problem };
      if (asked.status < 500) healthyUntilMs = clock.monotonicMs() + HEALTHY_FOR_MS;
      return { responsive: true, detail: `${name} answers` };
    },
    async inspect(signal) {
      const asked = await askForList(target, true, signal);
      if (!asked.ok) return { ok: false, detail: asked.problem };
      const { status, list } = asked;
      if (status >= 500) return { ok: false, detail: `${name} has a problem (HTTP ${status}): try again later` };
      if (status !== 200) return { ok: true, detail: `${UNKNOWN_MODEL} (no list: HTTP ${status})` };
      const isKnown = isListed(list, model);
      if (isKnown === null) return { ok: true, detail: `${UNKNOWN_MODEL} (its list is empty or unreadable)` };
      if (isKnown) return { ok: true, detail: "the provider answers and knows the model" };
      return { ok: false, detail: `${name} does not list the model ${model}: check its name` };
    },
  };
}

const UNKNOWN_MODEL = "the provider answers, but does not say whether it knows the model";

type ListAnswer =
  | { readonly ok: true; readonly status: number; readonly list: string }
  | { readonly ok: false; readonly problem: string };

async function askForList(target: HealthTarget, wantsList: boolean, signal: AbortSignal): Promise<ListAnswer> {
  const { origin, name, keyName, path, headers } = target;
  const sent = headers();
  if (sent === null) {
    return { ok: false, problem: `${keyName ?? `the API key for ${name}`} is empty or contains a space: set it again` };
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
  if (status === 0) return { ok: false, problem: `${name} ${explainEnd(name, end)}` };
  if (status !== 401) return { ok: true, status, list };
  const where = keyName === null ? "" : ` in ${keyName}`;
  return { ok: false, problem: `${name} refused the API key (HTTP 401): set the right one${where}` };
}

function explainEnd(name: string, end: ExchangeEnd): string {
  const isPlain = name.startsWith("http:");
  switch (end) {
    case "cancelled":
      return "did not answer in time";
    case "unreadable":
      return `does not speak HTTP: check baseUrl${isPlain ? ", which may have to begin with https" : ""}`;
    case "untrusted":
      return "has a certificate that is not trusted: check baseUrl, or add the certificate with NODE_EXTRA_CA_CERTS";
    case "no-tls":
      return "does not support TLS: check baseUrl, which may have to begin with http";
    case "connection-lost":
      return `closed the connection: check baseUrl${isPlain ? ", which may have to begin with https" : ""}`;
    default:
      return "cannot be reached: is the server running, and baseUrl right?";
  }
}

/** llama.cpp serves one model, lists it under its file's name, and answers to any name. */
const LLAMA_CPP = "llamacpp";

/**
 * Null if the list does not say: it is missing, empty or paged, or the server accepts any name. Servers list a model with
 * or without prefix, tag, date or variant, so names match without them; a completion reports a missing model anyway.
 */
export function isListed(body: string, model: string): boolean | null {
  const document = parseFields(body);
  const rows = entriesOf(document?.["data"] ?? document?.["models"]).map((row) => fieldsOf(row) ?? {});
  const names = rows.map((row) => textOf(row["id"]) || textOf(row["name"])).filter((name) => name !== "");
  if (names.some((name) => plainName(name) === plainName(model))) return true;
  const isOpen = document?.["has_more"] === true || rows.some((row) => row["owned_by"] === LLAMA_CPP);
  return names.length === 0 || isOpen ? null : false;
}

function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/^models\//, "")
    .replace(/:(?:latest|online|nitro|floor)$/, "")
    .replace(/-(?:latest|\d{8}|\d{4}-\d{2}-\d{2})$/, "");
}
