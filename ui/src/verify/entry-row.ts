/** An entry as a line of the timeline: what was decided, and where it stands on the axis of active time. */
import { type Entry, type EntryKind, type EntryOf, eventsOf } from "../../../src/kernel/journal/entry.ts";
import type { Lookup } from "../../../src/kernel/journal/views/body-content.ts";
import { callInWords } from "../../../src/kernel/journal/views/call-explanation.ts";
import { observedOutcome } from "../../../src/kernel/journal/views/call-outcome.ts";
import { unixMsOf } from "../../../src/kernel/journal/views/unix-time.ts";

export interface EntryRow {
  readonly seq: number;
  readonly kind: EntryKind;
  readonly turn: number;
  /** In the run's active time. */
  readonly startMs: number;
  readonly endMs: number;
  /** Before it, the run waited this long for a person or a restart. */
  readonly parkedMs: number;
  readonly what: string;
  /** Sizes and counts, behind it. */
  readonly note: string;
  readonly tone: "plain" | "wait" | "fail" | "untrusted";
  /** The run that this entry delegated to. */
  readonly child: string | null;
}

type Said = Pick<EntryRow, "what" | "note" | "tone"> & { readonly child?: string };

// One for all: `toLocaleString` makes a formatter for each number.
const inGroups = new Intl.NumberFormat("en");
/** Shorter waits are the machine's own. */
const PARKED_MS = 1_000;

export class RowWriter {
  readonly #lookup: Lookup;
  /** When the call that is observed now was dispatched. */
  readonly #dispatchedMs = new Map<string, number>();
  #before: { readonly elapsedMs: number; readonly atMs: number | null } | null = null;

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  row(entry: Entry): EntryRow {
    const { seq, kind, elapsedMs, stepId, ts } = entry;
    const atMs = unixMsOf(ts);
    const before = this.#before ?? { elapsedMs: 0, atMs };
    const passed = atMs === null || before.atMs === null ? 0 : atMs - before.atMs;
    const parkedMs = passed - (elapsedMs - before.elapsedMs);
    this.#before = { elapsedMs, atMs };
    const startMs = (kind === "OBSERVE" && this.#dispatchedMs.get(entry.decided.callId)) || before.elapsedMs;
    if (kind === "EXECUTE") this.#dispatchedMs.set(entry.decided.callId, elapsedMs);
    const { child = null, ...said } = saidBy(entry, this.#lookup);
    return {
      ...{ seq, kind, turn: Number(stepId.slice("step-".length)) || 0 },
      ...{ startMs: Math.min(startMs, elapsedMs), endMs: elapsedMs, parkedMs: parkedMs < PARKED_MS ? 0 : parkedMs },
      ...{ ...said, child },
    };
  }
}

function saidBy(entry: Entry, lookup: Lookup): Said {
  switch (entry.kind) {
    case "run.created":
      return created(entry);
    case "INFER":
      return inferred(entry);
    case "VALIDATE_CALLS":
      return validated(entry);
    case "EXECUTE": {
      const { child } = entry.decided;
      const said = plain(callInWords(entry.decided, lookup));
      return child === null ? said : { ...said, child: child.runId };
    }
    case "OBSERVE":
      return observed(entry);
    case "COMMIT":
      return committed(entry);
    case "TERMINATE": {
      const { outcome, reason } = entry.decided;
      const tone = outcome.startsWith("COMPLETED") ? "plain" : "fail";
      return { what: outcome, note: reason ?? "", tone };
    }
  }
}

const plain = (what: string, note = ""): Said => ({ what, note, tone: "plain" });
const failed = (what: string, note = ""): Said => ({ what, note, tone: "fail" });

function created({ decided: { principal, verdicts } }: EntryOf<"run.created">): Said {
  const refused = verdicts.find(({ failure }) => failure !== null);
  if (refused !== undefined) return failed(`${refused.check}: ${refused.failure}`, refused.detail);
  return plain(`accepted from ${principal}`, `${verdicts.length} checks passed`);
}

function inferred({ decided: { attempt }, result, modelFingerprint }: EntryOf<"INFER">): Said {
  if (result?.type === "model.failed") return failed("the model failed", `${result.code}, attempt ${attempt}`);
  if (result?.type !== "model.answered") return plain("ended before the model answered", result?.type ?? "");
  const { calls, adapter, usage } = result;
  const note = `${inGroups.format(usage.inputTokens)} in ${inGroups.format(usage.outputTokens)} out`;
  if (adapter.status === "rejected") return failed("its answer was rejected", adapter.failureCode ?? "");
  const proposed = calls.map(({ tool }) => tool).join(", ");
  const who = modelFingerprint === "" ? "the model" : modelFingerprint;
  return plain(calls.length === 0 ? `${who} answers` : `${who} proposes ${proposed}`, note);
}

const DECIDED: Readonly<Record<string, string>> = { allow: "allowed", deny: "denied" };

function validated(entry: EntryOf<"VALIDATE_CALLS">): Said {
  const { calls } = entry.decided;
  const answers = eventsOf(entry).filter((event) => event.type === "approval.decided");
  const words = calls.map(({ tool, decision, callId, policyId }) => {
    const answer = answers.findLast((each) => each.callId === callId);
    const by = answer === undefined ? policyId : `${DECIDED[answer.decision] ?? answer.decision} by ${answer.by}`;
    return `${decision === "allow" ? "allows" : "denies"} ${tool} (${by})`;
  });
  const isDenied = calls.some(({ decision }) => decision === "deny");
  return { what: words.length === 0 ? "no calls" : words.join(", "), note: "", tone: isDenied ? "fail" : "plain" };
}

function observed({ decided, result }: EntryOf<"OBSERVE">): Said {
  const { ok, error, outputBytes, truncated } = observedOutcome(result, decided.error);
  if (!ok) return failed(error?.message ?? "it failed", error?.code ?? "");
  const labels = result?.type === "tool.finished" ? result.labels : null;
  const isUntrusted = labels?.integrity === "untrusted";
  const size = `${sizeWords(outputBytes)}${truncated ? ", cut" : ""}`;
  const what = labels === null ? size : `${size}, ${labels.integrity} × ${labels.confidentiality}`;
  return { what, note: "", tone: isUntrusted ? "untrusted" : "plain" };
}

function committed({ decided: { next, cycle, budget, skipped } }: EntryOf<"COMMIT">): Said {
  const words = [
    next === "INFER" ? "goes on" : "goes to its end",
    ...(cycle > 1 ? [`the same call gave the same result ${cycle} times`] : []),
    ...(skipped.length > 0 ? [`${skipped.length} skipped`] : []),
  ];
  return plain(words.join(", "), `${inGroups.format(budget.tokens)} tokens so far`);
}

function sizeWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(bytes < 10_000 ? 1 : 0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
