/** Views of a stored run: its record, its row in a list and its bundle, from durable data only. */
import { refsOf } from "../../kernel/journal/body.ts";
import { makeBundle } from "../../kernel/journal/bundle.ts";
import type { EntryOf } from "../../kernel/journal/entry.ts";
import { parseLine } from "../../kernel/journal/journal-lines.ts";
import { type ReceiptSigner, signReceipt } from "../../kernel/journal/signed-receipt.ts";
import { type Lookup, textOf } from "../../kernel/journal/views/body-content.ts";
import { receiptOf } from "../../kernel/journal/views/receipt.ts";
import { answerOf } from "../../kernel/journal/views/run-answer.ts";
import { type RunParticulars, type RunRecord, runRecord } from "../../kernel/journal/views/run-record.ts";
import { terminalStatus } from "../../kernel/vocabulary/outcome.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import type { Toolbox } from "../../runtime/ports/toolbox.ts";
import { readBodies, readBodiesOf, readWholeJournal } from "../../runtime/run/read-run.ts";

const NO_TRACE: RunRecord["trace"] = { tool_execution_results: [] };

export interface RunViewParts {
  readonly store: Store;
  readonly summarize: Toolbox["summarize"];
  readonly signing: ReceiptSigner;
  /** Holds each run's files, by agent and run. */
  readonly agentsDirectory: string;
}

export type RunViews = ReturnType<typeof createRunViews>;

export function createRunViews({ store, summarize, signing, agentsDirectory }: RunViewParts) {
  const particularsOf = (run: StoredRun): RunParticulars => {
    const [provider = "", ...model] = run.model.split(":");
    const { runId, contractHash, agentId, sessionId, source, thinkingMode, status } = run;
    return {
      runId,
      contractHash,
      agentId,
      sessionId,
      source,
      status: status === "waiting_approval" || status === "queued" ? status : "running",
      artifactPath: `${agentsDirectory}/${agentId}/runs/${runId}`,
      provider,
      model: model.join(":"),
      thinkingMode,
      summarize,
    };
  };

  const record = async (run: StoredRun): Promise<RunRecord> => {
    const { entries } = await readWholeJournal(store, run.runId);
    const bodies = await readBodiesOf(store, run, entries);
    const receipt = receiptOf(entries, run.model);
    const shown: RunRecord = {
      ...runRecord(entries, particularsOf(run), (ref) => bodies.get(ref)?.text ?? null),
      ...(receipt === null ? {} : { receipt: signReceipt(run.runId, receipt, signing) }),
    };
    // Sealed without a TERMINATE entry: its journal did not replay.
    if (run.outcome === null || shown.outcome !== null) return shown;
    return { ...shown, status: terminalStatus(run.outcome), outcome: run.outcome, reason: run.reason };
  };

  /** The record without trace and receipt. An ended run's comes from its seal and answer: no ended journal is read. */
  const row = async (run: StoredRun): Promise<RunRecord> => {
    const { outcome, reason, ended, answerRef } = run;
    if (outcome === null || ended === null) return { ...(await record(run)), trace: NO_TRACE };
    const ending = await escalationOf(store, run);
    const bodies =
      ending === null
        ? await readBodies(store, run.sessionId, answerRef === null ? [] : [answerRef], null)
        : await readBodiesOf(store, run, [ending]);
    const lookup: Lookup = (ref) => bodies.get(ref)?.text ?? null;
    const said = ending === null ? textOf(answerRef, lookup) : answerOf(ending, lookup);
    const { source, artifactPath, provider, model } = particularsOf(run);
    return {
      id: run.runId,
      agent_id: run.agentId,
      ...(source === undefined ? {} : { source }),
      session_id: run.sessionId,
      status: terminalStatus(outcome),
      outcome,
      reason,
      output: said ?? "",
      artifact_path: artifactPath,
      duration_ms: ended.durationMs,
      tool_calls: ended.toolCalls,
      provider,
      model,
      thinking_mode: run.thinkingMode,
      contract_hash: run.contractHash,
      head_hash: ended.headHash,
      state_digest: ended.stateDigest,
      trace: NO_TRACE,
    };
  };

  const bundle = async (run: StoredRun): Promise<{ readonly ok: true; readonly text: string } | Refusal> => {
    const { entries } = await readWholeJournal(store, run.runId);
    const contract = parseJson(run.contract);
    // Unchecked: verification must name a changed body, not miss it.
    const bodies = await store.readBodies(run.sessionId, [...new Set(entries.flatMap(refsOf))], run.runId);
    const document = contract.ok ? contract.value : null;
    // Without a key, signing throws.
    const key = { ...signing, publicKey: signing.publicKey ?? "" };
    const made = makeBundle({ contract: document, entries, bodies, ...key });
    return made.ok ? made : refuse("conflict", made.problem);
  };

  return { record, rows: (runs: readonly StoredRun[]) => Promise.all(runs.map(row)), bundle };
}

/** The answer of an escalated run is derived from its last entry; there is no body. */
async function escalationOf(store: Store, { runId, reason }: StoredRun): Promise<EntryOf<"TERMINATE"> | null> {
  if (reason !== "tool_failure_escalation") return null;
  const head = await store.headOf(runId);
  const [line = ""] = head === null ? [] : await store.readEntries(runId, head.seq - 1, 1);
  const parsed = parseLine(line);
  return parsed.ok && parsed.value.kind === "TERMINATE" ? parsed.value : null;
}
