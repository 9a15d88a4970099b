/** Views of a stored run: its record, its row in a list and its bundle, from durable data only. */
import { type Body, refsOf } from "../../kernel/journal/body.ts";
import { makeBundle } from "../../kernel/journal/bundle.ts";
import type { EntryOf, MachineState } from "../../kernel/journal/entry.ts";
import { parseLine } from "../../kernel/journal/journal-lines.ts";
import { type ReceiptSigner, signReceipt } from "../../kernel/journal/signed-receipt.ts";
import { ERASED, type Lookup, textOf } from "../../kernel/journal/views/body-content.ts";
import { explainRun } from "../../kernel/journal/views/failure-explanation.ts";
import { receiptOf } from "../../kernel/journal/views/receipt.ts";
import { answerOf } from "../../kernel/journal/views/run-answer.ts";
import { type RunParticulars, type RunRecord, runRecord } from "../../kernel/journal/views/run-record.ts";
import { stateAfter } from "../../kernel/journal/views/run-snapshot.ts";
import { adviceOn } from "../../kernel/vocabulary/failures.ts";
import type { BodyRef } from "../../kernel/vocabulary/identifiers.ts";
import { terminalStatus } from "../../kernel/vocabulary/outcome.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import { type Store, type StoredRun, StoreError } from "../../runtime/ports/store.ts";
import type { Toolbox } from "../../runtime/ports/toolbox.ts";
import { firstWords, messageOfRun } from "../../runtime/run/message-of-run.ts";
import { findContract, type Journal, readBodies, readBodiesOf, readWholeJournal } from "../../runtime/run/read-run.ts";

/** A run in a list. */
export interface RunRow extends RunRecord {
  readonly created_at: string;
  /** The first words of the message; null when it was erased or cannot be read. */
  readonly prompt: string | null;
  /** The state it is in. */
  readonly state: MachineState;
}

const MAX_PROMPT_CHARS = 160;

const NO_TRACE: RunRecord["trace"] = { tool_execution_results: [] };

export interface RunViewParts {
  readonly store: Store;
  readonly summarize: Toolbox["summarize"];
  readonly signing: ReceiptSigner;
  /** Holds each run's files, by agent and run. */
  readonly agentsDirectory: string;
  /** The variable that holds the key for a model (`provider:model`); null if the config knows none. */
  readonly keyNameOf: (model: string) => string | null;
}

export type RunViews = ReturnType<typeof createRunViews>;

export function createRunViews({ store, summarize, signing, agentsDirectory, keyNameOf }: RunViewParts) {
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
    const journal = await readWholeJournal(store, run.runId);
    const { entries } = journal;
    const bodies = await readBodiesOf(store, run, entries);
    const damage = damageOf(run, journal, bodies);
    const receipt = receiptOf(entries, run.model);
    const lookup: Lookup = (ref) => bodies.get(ref)?.text ?? null;
    const explanation = explainRun(entries, findContract(run), keyNameOf(run.model), lookup);
    const shown: RunRecord = {
      ...runRecord(entries, particularsOf(run), lookup),
      ...(explanation === "" ? {} : { explanation }),
      ...(receipt === null ? {} : { receipt: signReceipt(run.runId, receipt, signing) }),
      ...(damage === null ? {} : { damage }),
      ...(run.erasedAt === undefined ? {} : { erased_at: run.erasedAt }),
    };
    // Sealed without a TERMINATE entry: its journal did not replay.
    if (run.outcome === null || shown.outcome !== null) return shown;
    const advice = run.reason === null ? null : adviceOn(run.reason);
    const sealed = { status: terminalStatus(run.outcome), outcome: run.outcome, reason: run.reason };
    return { ...shown, ...sealed, ...(advice === null ? {} : { explanation: advice }) };
  };

  const row = async (run: StoredRun): Promise<RunRow> => {
    const [record, state, message] = await Promise.all([recordInList(run), stateOf(store, run), messageOf(store, run)]);
    const prompt = message === null ? null : firstWords(message, MAX_PROMPT_CHARS);
    return { ...record, created_at: run.createdAt, prompt, state };
  };

  /** The record without trace and receipt. An ended run's comes from its seal and answer: no ended journal is read. */
  const recordInList = async (run: StoredRun): Promise<RunRecord> => {
    try {
      return await readRow(run);
    } catch (error) {
      if (error instanceof StoreError && error.code !== "store.corrupt") throw error;
      return { ...runRecord([], particularsOf(run), () => null), damage: "what is stored of it cannot be read" };
    }
  };

  const readRow = async (run: StoredRun): Promise<RunRecord> => {
    const { outcome, reason, ended, answerRef } = run;
    if (outcome === null || ended === null || reason === "machine.diverged") {
      const { explanation: _, usage: __, ...shown } = await record(run);
      return { ...shown, trace: NO_TRACE };
    }
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
      ...damageIn(run, answerRef !== null && said === ERASED && run.erasedAt === undefined),
      ...(run.erasedAt === undefined ? {} : { erased_at: run.erasedAt }),
    };
  };

  const bundle = async (run: StoredRun): Promise<{ readonly ok: true; readonly text: string } | Refusal> => {
    const journal = await readWholeJournal(store, run.runId);
    const { entries } = journal;
    const contract = parseJson(run.contract);
    if (!journal.ok || !contract.ok) {
      return refuse("conflict", `this run cannot be exported: ${damageOf(run, journal, null)}`);
    }
    // Unchecked: verification must name a changed body, not miss it.
    const bodies = await store.readBodies(run.sessionId, [...new Set(entries.flatMap(refsOf))], run.runId);
    // Without a key, signing throws.
    const key = { ...signing, publicKey: signing.publicKey ?? "" };
    const made = makeBundle({ contract: contract.value, entries, bodies, ...key });
    return made.ok ? made : refuse("conflict", made.problem);
  };

  return { record, rows: (runs: readonly StoredRun[]) => Promise.all(runs.map(row)), bundle };
}

/** A list shows what it can: a damaged run is a row too. */
async function stateOf(store: Store, { runId, outcome }: StoredRun): Promise<MachineState> {
  if (outcome !== null) return "TERMINATE";
  const head = await store.headOf(runId).catch(nullIfCorrupt);
  const [line = ""] = head === null || head.seq === 0 ? [] : await store.readEntries(runId, head.seq - 1, 1);
  const last = parseLine(line);
  return stateAfter(last.ok ? last.value : undefined);
}

async function messageOf(store: Store, run: StoredRun): Promise<string | null> {
  return await messageOfRun(store, run).catch(nullIfCorrupt);
}

function nullIfCorrupt(error: unknown): null {
  if (error instanceof StoreError && error.code !== "store.corrupt") throw error;
  return null;
}

/** What is wrong with the stored run; null when everything can be read. `bodies`: those of its entries, if read. */
function damageOf(run: StoredRun, journal: Journal, bodies: ReadonlyMap<BodyRef, Body> | null): string | null {
  const missing =
    bodies === null || run.erasedAt !== undefined ? 0 : new Set(journal.entries.flatMap(refsOf)).size - bodies.size;
  const problems = [
    journal.ok ? null : `entry ${journal.badEntry} of its journal is damaged`,
    findContract(run) === null ? "its contract is damaged" : null,
    missing > 0 ? textsMissing(missing) : null,
  ].filter((problem) => problem !== null);
  return problems.length === 0 ? null : problems.join("; ");
}

/** What a list can tell without reading the journal. */
function damageIn({ contract }: StoredRun, isAnswerMissing: boolean): Pick<RunRecord, "damage"> {
  if (!parseJson(contract).ok) return { damage: "its contract is damaged" };
  return isAnswerMissing ? { damage: textsMissing(1) } : {};
}

function textsMissing(count: number): string {
  return `${count} of its texts ${count === 1 ? "is" : "are"} missing or damaged`;
}

/** The answer of an escalated run is derived from its last entry; there is no body. */
async function escalationOf(store: Store, { runId, reason }: StoredRun): Promise<EntryOf<"TERMINATE"> | null> {
  if (reason !== "tool_failure_escalation") return null;
  const head = await store.headOf(runId);
  const [line = ""] = head === null ? [] : await store.readEntries(runId, head.seq - 1, 1);
  const parsed = parseLine(line);
  return parsed.ok && parsed.value.kind === "TERMINATE" ? parsed.value : null;
}
