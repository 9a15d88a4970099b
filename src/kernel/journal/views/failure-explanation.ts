/**
 * Explains a failed run, or a cut answer of a completed one, beyond outcome and reason: what was wrong, and what to do.
 * The run record, live output and `runs show` say the same. A provider's own words are quoted, and shown as its own.
 */

import { adviceOn } from "../../vocabulary/failures.ts";
import { terminalStatus } from "../../vocabulary/outcome.ts";
import type { Answer, Entry } from "../entry.ts";
import { type Lookup, textOf } from "./body-content.ts";
import { explainBudget, type RunLimits } from "./budget-explanation.ts";

/** What was wrong and what to do, a line each; empty for a run that is fine or has not ended. */
export function explainRun(entries: readonly Entry[], ...known: KnownOfRun): string {
  const last = entries.at(-1);
  if (last?.kind !== "TERMINATE") return "";
  const { outcome, reason } = last.decided;
  const wrong = explainFailure(entries, ...known);
  // What was wrong with the provider says what to do as well.
  const isSaid =
    reason === null || terminalStatus(outcome) !== "failed" || (reason === "provider.unavailable" && wrong !== "");
  return [wrong, (isSaid ? null : adviceOn(reason)) ?? ""].filter((text) => text !== "").join("\n");
}

type KnownOfRun = readonly [limits: RunLimits | null, keyName?: string | null, lookup?: Lookup];

/**
 * `limits` are those of the contract, null if it cannot be read; `keyName` is the variable that holds the provider's key,
 * if the caller knows it.
 */
export function explainFailure(
  entries: readonly Entry[],
  limits: RunLimits | null,
  keyName: string | null = null,
  lookup: Lookup = () => null,
): string {
  const last = entries.at(-1);
  if (last?.kind !== "TERMINATE") return "";
  const { outcome, reason } = last.decided;
  if (terminalStatus(outcome) === "completed") return explainCut(entries);
  switch (reason) {
    case "provider.unavailable":
      return providerFault(entries, keyName, lookup);
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
  return `The last answer was rejected: ${answered.adapter.failureCode}. ${explainCut(entries)}`.trim();
}

/** Only known stop reasons count as a cut: an unknown one does not make an answer incomplete. */
function explainCut(entries: readonly Entry[]): string {
  const inferred = lastInferred(entries, "model.answered");
  switch (inferred?.result.stopReason.trim().toLowerCase()) {
    case "length":
    case "max_tokens":
    case "max_output_tokens":
      return `The answer was cut off at its limit of ${inferred.decided.maxOutputTokens} tokens (max_output_tokens).`;
    case "model_context_window_exceeded":
      return "The answer was cut off at the end of the model's context window.";
    case "content_filter":
    case "refusal":
    case "safety":
      return "The provider withheld the answer or the rest of it.";
    default:
      return "";
  }
}

function providerFault(entries: readonly Entry[], keyName: string | null, lookup: Lookup): string {
  const failed = lastInferred(entries, "model.failed")?.result;
  if (failed === undefined) return "";
  const words = textOf(failed.messageRef ?? null, lookup);
  const fault = kindOfFault(failed, keyName);
  return words === null ? fault : `${fault} The provider says: ${JSON.stringify(words)}`;
}

function kindOfFault(failed: Extract<Answer, { type: "model.failed" }>, keyName: string | null): string {
  const status = /^provider\.http-(\d+)$/.exec(failed.code)?.[1];
  if (!failed.retryable && failed.retryAfterMs > 0) {
    const wait = waitWords(failed.retryAfterMs);
    return `The provider refused the request (HTTP ${status ?? "429"}) and asks to wait ${wait}: try again then.`;
  }
  if (status !== undefined) return statusFault(status, keyName);
  if (failed.code === "provider.invalid-key") return `${keyName ?? "Its API key"} ${NO_KEY}`;
  return FAULTS[failed.code] ?? `The provider failed with ${failed.code}.`;
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

const NO_KEY = "is empty, or holds a space or another character that no key has.";

function statusFault(status: string, keyName: string | null): string {
  const where = keyName === null ? "" : ` in ${keyName}`;
  if (status === "401") return `The provider refused the API key (HTTP 401): set the right one${where}.`;
  if (status === "403")
    return `The provider does not allow this request for the API key (HTTP 403): check the key${where} and your account.`;
  if (status === "402") return "The provider wants payment first (HTTP 402): check your account there.";
  if (status === "404")
    return "The provider does not know this model or address (HTTP 404): check the model's name and baseUrl.";
  if (/^3/.test(status))
    return `The provider answered with a redirect (HTTP ${status}), which Surety does not follow: check baseUrl.`;
  return `The provider answered HTTP ${status}.`;
}

const FAULTS: Readonly<Record<string, string>> = {
  "provider.rate-limited":
    "The provider has too many requests (HTTP 429), after all retries: wait, or ask for a higher limit.",
  "provider.overloaded": "The provider is overloaded, after all retries: try again later.",
  "provider.failed": "The provider reported an error instead of an answer.",
  "provider.unreachable":
    "The provider could not be reached, after all retries: check that it runs and that baseUrl is right.",
  "provider.untrusted": "The provider's certificate is not trusted: check baseUrl and the certificate.",
  "provider.no-tls": "The provider does not speak TLS: check baseUrl, which may have to begin with http.",
  "provider.connection-lost": "The connection was lost before an answer began, after all retries.",
  "provider.cut-off": "The provider's answer broke off.",
  "provider.unreadable": "The provider's answer does not follow its protocol: check kind and baseUrl.",
  "provider.too-large": "The provider sent more than an answer may hold.",
  "provider.too-long": "The provider wrote far more tokens than were asked for.",
  "provider.not-configured": "The config no longer names the provider.",
  "adapter.unknown":
    "A later version of Surety sealed this contract, with a form of answers that this version does not know: update Surety.",
  "provider.context-full": "The prompt leaves no room for an answer in the model's context.",
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
