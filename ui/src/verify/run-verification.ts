/**
 * Verifies a run as its entries come: the machine must make the same entries of the same events, hash for hash from the contract
 * on, which proves the chain too; every text must match its ref, and the state digest the gateway's at the same seq.
 *
 * V1. Only what was checked here counts as checked: `checked` entries, up to the first bad one.
 * V2. The first bad entry is named with what is wrong with it. What comes after it is shown and proves nothing.
 * V3. Each entry is checked once, so that a run that goes on costs no more than its new entries.
 */
import type { ExecutionContract } from "../../../src/kernel/contract/contract.ts";
import { openContract } from "../../../src/kernel/contract/open-contract.ts";
import { type Body, isBodyOf, refsOf } from "../../../src/kernel/journal/body.ts";
import type { Budget, Entry, MachineState } from "../../../src/kernel/journal/entry.ts";
import { parseEntry } from "../../../src/kernel/journal/journal-lines.ts";
import { entryProblem } from "../../../src/kernel/journal/verify-journal.ts";
import { ERASED, type Lookup } from "../../../src/kernel/journal/views/body-content.ts";
import { answerOf } from "../../../src/kernel/journal/views/run-answer.ts";
import { digestOf, snapshotOfEntries } from "../../../src/kernel/journal/views/run-snapshot.ts";
import { acceptedOf } from "../../../src/kernel/journal/views/run-timeline.ts";
import { type Fold, foldEntry, startFold } from "../../../src/kernel/machine/fold.ts";
import { snapshotOf } from "../../../src/kernel/machine/snapshot.ts";
import { jsonEquals } from "../../../src/kernel/policy/json-equals.ts";
import type { ToolPolicy } from "../../../src/kernel/policy/tool-policy.ts";
import { asBodyRef, asHash, asRunId, type BodyRef } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../../src/kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../../src/kernel/vocabulary/parse-json.ts";
import { fromWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import { type EntryRow, RowWriter } from "./entry-row.ts";

/** As `runs.entries` answers. */
export interface EntriesPage {
  readonly contract: unknown;
  readonly entries: readonly unknown[];
  readonly bodies: Readonly<Record<string, Body>>;
  readonly erased: readonly string[];
  readonly seq: number;
  readonly digest: string;
  readonly total: number;
  readonly is_ended: boolean;
  readonly damage: { readonly entry: number; readonly problem: string } | null;
}

export interface BadEntry {
  readonly entry: number;
  readonly problem: string;
}

/** What the entries say of the run. */
export interface RunFacts {
  /** Null: erased, or there is none. */
  readonly message: string | null;
  readonly answer: string | null;
  readonly state: MachineState;
  readonly turn: number;
  /** Those that the turn has entries of: one without calls executes nothing. */
  readonly visited: readonly MachineState[];
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly labels: Labels;
  readonly budget: Budget;
  readonly limits: Pick<
    ExecutionContract,
    "maxInferences" | "maxTokensConsumed" | "maxSpendMicrousd" | "totalTimeoutMs"
  > | null;
  /** As it was sealed. */
  readonly policy: ToolPolicy | null;
  readonly elapsedMs: number;
  readonly acceptedAt: string | null;
}

export interface Checked {
  /** Of the last entry that came. */
  readonly seq: number;
  readonly total: number;
  readonly isEnded: boolean;
  readonly checked: number;
  readonly bad: BadEntry | null;
  /** At `seq`; `here` is null where a bad entry leaves nothing to compare. */
  readonly digest: { readonly here: string | null; readonly gateway: string };
  readonly erased: number;
  readonly facts: RunFacts;
  /** Of the entries that came last, from `from` on. */
  readonly from: number;
  readonly rows: readonly EntryRow[];
  /** For checking alone. */
  readonly tookMs: number;
}

export interface EntryDetails {
  readonly entry: Entry;
  readonly texts: readonly { readonly ref: string; readonly text: string | null; readonly isChanged: boolean }[];
}

export class RunVerification {
  readonly #runId;
  readonly #entries: Entry[] = [];
  readonly #texts = new Map<BodyRef, string>();
  readonly #erased = new Set<string>();
  readonly #changed = new Set<string>();
  readonly #rows: RowWriter;
  readonly #lookup: Lookup = (ref) => this.#texts.get(ref) ?? null;
  #contract: ExecutionContract | null = null;
  #fold: Fold | null = null;
  #bad: BadEntry | null = null;
  #checked = 0;

  constructor(runId: string) {
    this.#runId = asRunId(runId);
    this.#rows = new RowWriter(this.#lookup);
  }

  add(page: EntriesPage, nowMs: () => number): Checked {
    const startedMs = nowMs();
    const from = this.#entries.length;
    if (from === 0 && this.#contract === null) this.#open(page.contract);
    for (const [ref, body] of Object.entries(page.bodies)) this.#keep(asBodyRef(ref), body);
    for (const ref of page.erased) this.#erased.add(ref);
    for (const document of page.entries) this.#take(document);
    const { seq, total, damage, is_ended: isEnded } = page;
    if (damage !== null) this.#blame(damage.entry, damage.problem);
    else if (seq >= total && isEnded && this.#entries.at(-1)?.kind !== "TERMINATE")
      this.#blame(this.#entries.length + 1, "the entry is missing: the run has ended, its journal has no end");
    else if (page.entries.length === 0 && seq < total) this.#blame(seq + 1, "the entry is missing");
    const here = this.#digest();
    const tookMs = nowMs() - startedMs;
    const rows = this.#entries.slice(from).map((entry) => this.#rows.row(entry));
    const facts = this.#facts();
    return {
      ...{ seq, total, isEnded, checked: this.#checked, bad: this.#bad, erased: this.#erased.size, facts, from, rows },
      digest: { here, gateway: page.digest },
      tookMs,
    };
  }

  /** Null when there is no such entry. */
  details(seq: number): EntryDetails | null {
    const entry = this.#entries[seq - 1];
    if (entry === undefined) return null;
    const texts = refsOf(entry).map((ref) => {
      return { ref, text: this.#texts.get(ref) ?? null, isChanged: this.#changed.has(ref) };
    });
    return { entry, texts };
  }

  #open(document: unknown): void {
    const opened = openContract(document);
    if (!opened.ok) {
      this.#blame(1, `its contract: ${opened.problem}`);
      return;
    }
    this.#contract = opened.contract;
    this.#fold = startFold(this.#runId, opened.contract);
  }

  #keep(ref: BodyRef, body: Body): void {
    this.#texts.set(ref, body.text);
    if (!isUnchanged(ref, body)) this.#changed.add(ref);
  }

  #take(document: unknown): void {
    const seq = this.#entries.length + 1;
    const derived = this.#derive(document);
    const parsed = derived === null ? parseEntry(document as JsonValue) : { ok: true as const, value: derived };
    if (!parsed.ok) {
      this.#blame(seq, parsed.problem);
      return;
    }
    const entry = parsed.value;
    this.#entries.push(entry);
    const problem = derived === null ? this.#problemWith(entry) : this.#textProblem(entry);
    if (problem !== null) this.#blame(seq, problem);
    else if (this.#bad === null) this.#checked = seq;
  }

  /**
   * The entry as the machine makes it of the events in the document, linked to the entry before; null if the document is not
   * that entry to the last field. Nothing else about it has to be checked then.
   */
  #derive(document: unknown): Entry | null {
    if (this.#bad !== null || this.#fold === null) return null;
    try {
      const given = fromWire(document) as Entry;
      const folded = foldEntry(this.#fold, given);
      if (!folded.ok || !jsonEquals(folded.derived, given)) return null;
      this.#fold = folded.fold;
      return folded.derived;
    } catch {
      // Not the shape of an entry: reading it by its schema says what is wrong.
      return null;
    }
  }

  /** In the words of `surety verify`, if there are any. */
  #problemWith(entry: Entry): string | null {
    const contract = this.#contract;
    if (this.#bad !== null || this.#fold === null || contract === null) return null;
    const first = this.#entries[0] ?? entry;
    const broken = entryProblem(entry, this.#entries.at(-2) ?? null, first, contract.contractHash);
    if (broken !== null) return broken;
    if (entry.runId !== this.#runId) return "run_id is another run's";
    const folded = foldEntry(this.#fold, entry);
    if (!folded.ok) return "the machine makes another entry of the same events";
    this.#fold = folded.fold;
    return this.#textProblem(entry);
  }

  #textProblem(entry: Entry): string | null {
    const isChanged = this.#changed.size > 0 && refsOf(entry).some((ref) => this.#changed.has(ref));
    return isChanged ? "a text it names was changed" : null;
  }

  #blame(entry: number, problem: string): void {
    if (this.#bad === null || entry < this.#bad.entry) this.#bad = { entry, problem };
  }

  /** Of the machine's own state, unless the page ended within one of its steps. */
  #digest(): string | null {
    if (this.#bad !== null || this.#fold === null || this.#contract === null) return null;
    const { ahead, state } = this.#fold;
    return digestOf(
      ahead.length === 0
        ? snapshotOf(state)
        : snapshotOfEntries(this.#runId, this.#contract.contractHash, this.#entries),
    );
  }

  #facts(): RunFacts {
    const last = this.#entries.at(-1);
    const contractHash = this.#contract?.contractHash ?? last?.contractHash ?? asHash("");
    const { state, stepId, outcome, reason, labels, budget } = snapshotOfEntries(
      this.#runId,
      contractHash,
      this.#entries,
    );
    const accepted = acceptedOf(this.#entries);
    return {
      message: accepted === null ? null : (this.#texts.get(accepted.messageRef) ?? ERASED),
      answer: last?.kind === "TERMINATE" ? answerOf(last, this.#lookup) : null,
      ...{ state, outcome, reason, labels, budget },
      turn: Number(stepId.slice("step-".length)),
      visited: visitedIn(this.#entries, stepId),
      limits: limitsOf(this.#contract),
      policy: this.#contract?.policy ?? null,
      elapsedMs: last?.elapsedMs ?? 0,
      acceptedAt: accepted?.ts ?? this.#entries[0]?.ts ?? null,
    };
  }
}

function visitedIn(entries: readonly Entry[], stepId: string): readonly MachineState[] {
  const states = new Set<MachineState>();
  for (const entry of entries) if (entry.stepId === stepId || entry.state === "PRECHECK") states.add(entry.state);
  return [...states];
}

function limitsOf(contract: ExecutionContract | null): RunFacts["limits"] {
  if (contract === null) return null;
  const { maxInferences, maxTokensConsumed, maxSpendMicrousd, totalTimeoutMs } = contract;
  return { maxInferences, maxTokensConsumed, maxSpendMicrousd, totalTimeoutMs };
}

/** A salt that is no salt, or half a character, cannot have been written by us either. */
function isUnchanged(ref: BodyRef, body: Body): boolean {
  try {
    return isBodyOf(ref, body);
  } catch {
    return false;
  }
}
