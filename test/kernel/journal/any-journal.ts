/** Journals built with `writeEntry` alone: chains and formats are right, what they tell need not make sense. */
import fc from "fast-check";
import { DEFAULT_TERMS } from "../../../src/kernel/contract/default-terms.ts";
import { sealContract } from "../../../src/kernel/contract/seal-contract.ts";
import {
  hashAction,
  hashLink,
  hashResult,
  nameModel,
  type StatementOf,
  startChain,
  writeEntry,
} from "../../../src/kernel/journal/chain.ts";
import {
  DecidedSchemas,
  type Entry,
  type EntryKind,
  entrySchemaOf,
  type Result,
} from "../../../src/kernel/journal/entry.ts";
import { STATE_OF } from "../../../src/kernel/journal/entry-encoding.ts";
import { LabelsSchema } from "../../../src/kernel/journal/event.ts";
import { toLine } from "../../../src/kernel/journal/journal-lines.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asRunId, type BodyRef } from "../../../src/kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { anyOf, anyText, BODIES } from "./any-record.ts";

export const RUN_ID = asRunId("run_1");
export const CONTRACT = sealContract({
  ...DEFAULT_TERMS,
  contractId: "contract_1",
  allowedTools: ["fs.read_text"],
  adapterVersion: "native-tools@1",
  modelProfileId: "native-tools",
  model: "builtin:demo",
  toolsDigest: hashBytes("tools"),
  requiredEffects: [{ tool: "fs.*", args: { file_path: "notes.txt" } }],
});

export const KINDS = Object.keys(STATE_OF) as readonly EntryKind[];
export type AnyDraft = Omit<StatementOf<EntryKind>, "seq">;

export function chainOf(drafts: readonly AnyDraft[], runId = RUN_ID, contract = CONTRACT): readonly Entry[] {
  const entries: Entry[] = [];
  let head = startChain(runId, contract);
  let prev = head.linked.hash;
  for (const [index, draft] of drafts.entries()) {
    const entry = writeEntry(prev, { ...draft, seq: index + 1, frame: head.frame }).entry as Entry;
    entries.push(entry);
    prev = entry.hash;
    // From the second entry on there is a fingerprint, as after a first response.
    head = nameModel(head, "fp_1");
  }
  return entries;
}

export function fileOf(entries: readonly Entry[]): string {
  return entries.map((entry) => `${toLine(entry)}\n`).join("");
}

/** The entry with these fields instead, and every hash of it made right again but those that are given. */
export function forge(entry: Entry, changes: Partial<Record<keyof Entry, unknown>>): Entry {
  const changed = { ...entry, ...changes } as Entry;
  const hashes = { actionHash: hashAction(changed), resultHash: hashResult(changed.result), ...changes };
  const linked = { ...changed, ...hashes } as Entry;
  return { ...linked, hash: hashLink(linked), ...changes } as Entry;
}

const anyResult = anyOf<Result>(entrySchemaOf("COMMIT").properties.result);

export function anyDraft(kinds: readonly EntryKind[]): fc.Arbitrary<AnyDraft> {
  return fc.constantFrom(...kinds).chain((kind) =>
    fc.record(
      {
        kind: fc.constant(kind),
        ts: anyText,
        elapsedMs: fc.maxSafeNat(),
        stepId: anyText,
        actor: anyText,
        labels: anyOf<AnyDraft["labels"]>(LabelsSchema),
        decided: anyOf<AnyDraft["decided"]>(DecidedSchemas[kind]),
        result: anyResult,
      },
      { noNullPrototype: true },
    ),
  );
}

const LATER_KINDS = KINDS.filter((kind) => kind !== "run.created" && kind !== "TERMINATE");

export function anyOpenJournal(maxLength = 5): fc.Arbitrary<readonly Entry[]> {
  return anyDrafts(maxLength - 1).map((drafts) => chainOf(inOrder(drafts)));
}

export function anySealedJournal(maxLength = 5): fc.Arbitrary<readonly Entry[]> {
  return fc
    .tuple(anyDrafts(maxLength - 1), anyDraft(["COMMIT"]), anyDraft(["TERMINATE"]))
    .map(([drafts, commit, end]) => chainOf(inOrder([...drafts, commit, end])));
}

function anyDrafts(maxLength: number): fc.Arbitrary<readonly AnyDraft[]> {
  return fc
    .tuple(anyDraft(["run.created"]), fc.array(anyDraft(LATER_KINDS), { maxLength }))
    .map(([created, later]) => [created, ...later]);
}

/** After a COMMIT comes what it says: what cannot come there is left out, and the COMMIT says what does. */
function inOrder(drafts: readonly AnyDraft[]): readonly AnyDraft[] {
  const possible: AnyDraft[] = [];
  for (const draft of drafts) {
    if (possible.at(-1)?.kind !== "COMMIT" || AFTER_COMMIT.includes(draft.kind)) possible.push(draft);
  }
  return possible.map((draft, index) => {
    if (draft.kind !== "COMMIT") return draft;
    const next = possible[index + 1]?.kind === "TERMINATE" ? "TERMINATE" : "INFER";
    return { ...draft, decided: { ...draft.decided, next } as AnyDraft["decided"] };
  });
}

const AFTER_COMMIT: readonly EntryKind[] = ["INFER", "COMMIT", "TERMINATE"];

const BUDGET = {
  inferences: 1,
  formatRetries: 0,
  tokens: 9,
  toolOutputBytes: 0,
  spendMicrousd: 0,
  performed: 0,
  succeeded: 0,
};
const RECOVERY = { active: false, failuresInARow: 0, failuresInRecovery: 0, successesInARow: 0 };
const [FIRST_REF] = [...BODIES.keys()] as [BodyRef];
const frame = { elapsedMs: 0, stepId: "s1", actor: "machine", labels: CLEAN_LABELS, result: null } as const;

/** Three entries, as short as they can be, with text of one to four bytes a character. */
export const SMALL_JOURNAL: readonly Entry[] = chainOf([
  {
    ...frame,
    kind: "run.created",
    ts: "2026-01-02T03:04:05.000Z",
    decided: {
      messageRef: null,
      principal: "Zoë\u2028\n\ufffd\u{1f512}",
      contractHash: CONTRACT.contractHash,
      verdicts: [],
      heard: [],
    },
  },
  {
    ...frame,
    kind: "COMMIT",
    ts: "2026-01-02T03:04:06.000Z",
    decided: {
      budget: BUDGET,
      recovery: RECOVERY,
      cycle: 0,
      promptTokens: 10,
      skipped: [],
      next: "TERMINATE",
      heard: [{ type: "timer.fired", ts: "2026-01-02T03:04:05.500Z", elapsedMs: 500, timer: "run" }],
    },
  },
  {
    ...frame,
    kind: "TERMINATE",
    ts: "2026-01-02T03:04:06.000Z",
    decided: { outcome: "COMPLETED_CHAT_ONLY", reason: null, attempts: [] },
    result: { type: "run.answered", ref: FIRST_REF },
  },
]);
