/**
 * What exactly went wrong in a run that failed, or with the answer of one that completed, for people: more than reason and
 * outcome say, and no word of a provider's or a model's. Empty where they say it all.
 */
import { terminalStatus } from "../../vocabulary/outcome.ts";
import type { Entry } from "../entry.ts";
import { explainBudget, type RunLimits } from "./budget-explanation.ts";

/**
 * `limits` are those of its contract, null where that cannot be read; `keyName` is the variable that holds the provider's key,
 * for whoever knows it.
 */
export function explainFailure(
  entries: readonly Entry[],
  limits: RunLimits | null,
  keyName: string | null = null,
): string {
  const last = entries.at(-1);
  if (last?.kind !== "TERMINATE") return "";
  const { outcome, reason } = last.decided;
  if (terminalStatus(outcome) === "completed") return cutFound(entries);
  switch (reason) {
    case "provider.unavailable":
      return providerFault(entries, keyName);
    case "protocol.malformed":
      return protocolFault(entries);
    case "budget.spend":
    case "budget.tokens":
      return explainBudget(entries, reason, limits);
    default:
      return outcome === "FAILED_PREFLIGHT" ? failedCheck(entries) : "";
  }
}

function failedCheck([first]: readonly Entry[]): string {
  if (first?.kind !== "run.created") return "";
  return first.decided.verdicts.find(({ failure }) => failure !== null)?.detail ?? "";
}

function protocolFault(entries: readonly Entry[]): string {
  const answered = lastInferred(entries, "model.answered")?.result;
  if (!answered?.adapter.failureCode) return "";
  return `The last answer was rejected: ${answered.adapter.failureCode}. ${cutFound(entries)}`.trim();
}

/** Of reasons to stop only those that are known for a cut: an answer is not called half for a word nobody knows. */
function cutFound(entries: readonly Entry[]): string {
  const inferred = lastInferred(entries, "model.answered");
  switch (inferred?.result.stopReason.trim().toLowerCase()) {
    case "length":
    case "max_tokens":
    case "max_output_tokens":
      return `The answer was cut off at its limit of ${inferred.decided.maxOutputTokens} tokens (max_output_tokens).`;
    case "model_context_window_exceeded":
      return "The answer was cut off where the model's context ended.";
    case "content_filter":
    case "refusal":
    case "safety":
      return "The answer, or its rest, was withheld by its provider.";
    default:
      return "";
  }
}

function providerFault(entries: readonly Entry[], keyName: string | null): string {
  const failed = lastInferred(entries, "model.failed")?.result;
  if (failed === undefined) return "";
  const status = /^provider\.http-(\d+)$/.exec(failed.code)?.[1];
  if (!failed.retryable && failed.retryAfterMs > 0) {
    const wait = waitWords(failed.retryAfterMs);
    return `It turned the request away (HTTP ${status ?? "429"}) and wants to be asked again in ${wait}: try again then.`;
  }
  if (status !== undefined) return statusFault(status, keyName);
  if (failed.code === "provider.invalid-key") return `${keyName ?? "Its API key"} ${NO_KEY}`;
  return FAULTS[failed.code] ?? `It ended ${failed.code}.`;
}

const MINUTE_MS = 60_000;
const WAITS = [
  ["minutes", MINUTE_MS, 120],
  ["hours", 60 * MINUTE_MS, 48],
  ["days", 24 * 60 * MINUTE_MS, Number.POSITIVE_INFINITY],
] as const;

function waitWords(waitMs: number): string {
  const [unit, unitMs] = WAITS.find(([, ms, most]) => waitMs <= ms * most) ?? WAITS[2];
  return `${Math.ceil(waitMs / unitMs)} ${unit}`;
}

const NO_KEY = "is empty, or holds a space or a character that no key has.";

function statusFault(status: string, keyName: string | null): string {
  const where = keyName === null ? "" : ` in ${keyName}`;
  if (status === "401") return `It refused the API key (HTTP 401): set the right one${where}.`;
  if (status === "403")
    return `It refused this API key the request (HTTP 403): check the key${where} and your account.`;
  if (status === "402") return "It wants to be paid first (HTTP 402): look at your account there.";
  if (status === "404") return "It knows no such model or address (HTTP 404): check the model's name and baseUrl.";
  if (/^3/.test(status)) return `It answered with a redirect (HTTP ${status}), which is not followed: check baseUrl.`;
  return `It answered HTTP ${status}.`;
}

const FAULTS: Readonly<Record<string, string>> = {
  "provider.rate-limited": "It had too many requests (HTTP 429), at the last try too: wait, or ask for a higher limit.",
  "provider.overloaded": "It said that it is overloaded, at the last try too.",
  "provider.failed": "It reported an error instead of an answer.",
  "provider.unreachable": "It could not be reached, at the last try either: is it running, and baseUrl right?",
  "provider.untrusted": "Its certificate is not trusted: check baseUrl and the certificate.",
  "provider.no-tls": "It could not be spoken to over TLS: check baseUrl, which may have to begin with http.",
  "provider.connection-lost": "The connection was lost before an answer began, at the last try too.",
  "provider.cut-off": "Its answer broke off.",
  "provider.unreadable": "What it sent is no answer of its protocol: check kind and baseUrl.",
  "provider.too-large": "It sent more than an answer may hold.",
  "provider.too-long": "It wrote on far beyond the tokens it was asked for.",
  "provider.not-configured": "The config does not name it any more.",
};

type Inferred = Extract<Entry, { kind: "INFER" }>;
type InferredBy<Type extends string> = Inferred & {
  readonly result: Extract<Inferred["result"], { readonly type: Type }>;
};

function lastInferred<Type extends "model.answered" | "model.failed">(
  entries: readonly Entry[],
  type: Type,
): InferredBy<Type> | undefined {
  const isIt = (entry: Entry): entry is InferredBy<Type> => entry.kind === "INFER" && entry.result?.type === type;
  return entries.findLast(isIt);
}
