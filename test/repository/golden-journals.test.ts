/** Journals recorded under earlier versions, never edited: they must verify, and fold to the same bytes, for ever. */
import { readFileSync } from "node:fs";
import { Compile } from "typebox/compile";
import { expect, test } from "vitest";
import { verifySignature } from "../../src/boot/signing-key.ts";
import { openContract } from "../../src/kernel/contract/open-contract.ts";
import { verifyBundle } from "../../src/kernel/journal/bundle.ts";
import { eventsOf } from "../../src/kernel/journal/entry.ts";
import { parseEntry } from "../../src/kernel/journal/journal-lines.ts";
import { verifyJournal } from "../../src/kernel/journal/verify-journal.ts";
import { explainFailure } from "../../src/kernel/journal/views/failure-explanation.ts";
import { lifecycleEvents } from "../../src/kernel/journal/views/lifecycle-events.ts";
import { receiptOf } from "../../src/kernel/journal/views/receipt.ts";
import { foldRun } from "../../src/kernel/machine/fold.ts";
import { asRunId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { JsonValue } from "../../src/kernel/vocabulary/parse-json.ts";
import { toWire } from "../../src/kernel/vocabulary/wire-case.ts";
import { whatIf } from "../../src/runtime/run/replay-run.ts";
import { verifies } from "../requirements.ts";

const FIXTURES = new URL("../../contracts/fixtures/", import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, FIXTURES), "utf8");

const GOLDEN = [
  { version: "2.1", outcome: "COMPLETED_WITH_TOOLS", length: 17 },
  { version: "2.2", outcome: "COMPLETED_WITH_TOOLS", length: 17 },
  { version: "2.3", outcome: "COMPLETED_WITH_TOOLS", length: 17 },
] as const;

for (const { version, outcome, length } of GOLDEN) {
  verifies(
    ["M-P5.4", "M-P3", "M-P5.1"],
    `the golden journal of contract ${version} verifies and folds to ${outcome}`,
    () => {
      const opened = openContract(JSON.parse(read(`contract-${version}.json`)));
      if (!opened.ok) throw new Error(opened.problem);
      const { contract } = opened;
      expect(contract.version).toBe(version);
      const verified = verifyJournal(read(`journal-${version}.jsonl`), { contractHash: contract.contractHash });
      if (!verified.ok) throw new Error(`entry ${verified.entry}: ${verified.problem}`);
      expect(verified).toMatchObject({ sealed: true, length, torn: null });
      const folded = foldRun(asRunId("run_1"), contract, verified.entries);
      expect(folded.ok).toBe(true);
      expect(folded.state.phase).toMatchObject({ at: "TERMINATE", outcome });
      expect(folded.state.chain.linked.hash).toBe(verified.head);
    },
  );
}

verifies(
  ["M-P5.4", "T-3a"],
  "a routed contract is the contract it was sealed as, and another one without its routing",
  () => {
    const document = JSON.parse(read("contract-2.2-routed.json"));
    const opened = openContract(document);
    expect(opened.ok && opened.contract.routing).toMatchObject({ task: "orchestration", tier: "mid" });
    const { routing: _, ...named } = document;
    expect(openContract(named)).toEqual({ ok: false, problem: "contract_hash does not match the terms" });
  },
);

verifies(
  ["M-P5.4", "M-4.1", "T-3b"],
  "a sub-agent's contract keeps the policy state it was drafted under, and the schema of its answer letter for letter",
  () => {
    const document = JSON.parse(read("contract-2.3-sub-agent.json"));
    const opened = openContract(document);
    expect(opened).toMatchObject({
      ok: true,
      contract: {
        depth: 1,
        policyState: { retryTolerance: 1 },
        outputSchema: { required: ["issues", "suggestions", "score"] },
      },
    });
    expect(opened.ok && JSON.parse(JSON.stringify(toWire(opened.contract)))).toEqual(document);
    for (const change of [{ policy_state: null }, { output_schema: null }]) {
      const problem = "contract_hash does not match the terms";
      expect(openContract({ ...document, ...change })).toEqual({ ok: false, problem });
    }
  },
);

/** Every line of it is an entry, and they fold to themselves. */
function foldBundle(text: string) {
  const { contract: document, entries: lines } = JSON.parse(text);
  const opened = openContract(document);
  if (!opened.ok) throw new Error(opened.problem);
  const { contract } = opened;
  const entries = (lines as JsonValue[]).map((line) => parseEntry(line)).flatMap((each) => (each.ok ? each.value : []));
  const folded = foldRun(asRunId(entries[0]?.runId ?? ""), contract, entries);
  expect([entries.length, folded.ok]).toEqual([lines.length, true]);
  return { contract, entries, folded };
}

verifies(
  ["M-P5.4", "X-3"],
  "the golden bundle of a run with an image verifies, folds, and names the image by its ref",
  () => {
    const text = read("bundle-2.2-images.json");
    expect(verifyBundle(text, { verifySignature })).toMatchObject({
      ok: true,
      outcome: "COMPLETED_CHAT_ONLY",
      erased: [],
    });
    const { folded } = foldBundle(text);
    const { bodies } = JSON.parse(text);
    const [image] = folded.state.accepted?.media ?? [];
    expect(image).toMatchObject({ type: "image", mimeType: "image/png", bytes: 69, width: 1, height: 1 });
    expect(
      Buffer.from(bodies[image?.ref ?? ""].text, "base64")
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    expect(verifyBundle(text.replace("iVBORw0KGgo", "iVBORw0KGgp"), { verifySignature }).ok).toBe(false);
  },
);

verifies(
  ["M-P5.4", "P-3.3"],
  "the golden bundle of a run with a call that always asks verifies and folds, and a person allowed the call",
  () => {
    const text = read("bundle-2.2-asks-always.json");
    expect(verifyBundle(text, { verifySignature })).toMatchObject({
      ok: true,
      outcome: "COMPLETED_WITH_TOOLS",
      erased: [],
    });
    const { contract, entries } = foldBundle(text);
    expect(contract.policy.exceptions).toEqual([{ tool: "shell.exec", channel: "cli_local", decision: "allow" }]);
    const decided = entries.flatMap((entry) => (entry.kind === "VALIDATE_CALLS" ? entry.decided.calls : []));
    expect(decided).toMatchObject([
      {
        tool: "shell.exec",
        decision: "allow",
        policyId: "policy.asks-always",
        approvalId: expect.stringMatching(/^approval_/),
      },
    ]);
    expect(whatIf(contract, entries, contract.policy)).toEqual([]);
  },
);

verifies(
  ["M-P5.4", "X-10"],
  "the golden bundle of a run whose inference was cut off verifies, folds, and charges it by the price it tells",
  () => {
    const text = read("bundle-2.2-cut-off.json");
    expect(verifyBundle(text, { verifySignature })).toMatchObject({
      ok: true,
      outcome: "FAILED_TIMEOUT",
    });
    const { contract, entries, folded } = foldBundle(text);
    expect(folded.state.accepted?.price).toEqual({ inputPer1k: 1000, outputPer1k: 2000 });
    // 1707 tokens in and 1024 out.
    expect(receiptOf(entries, contract.model)).toMatchObject({ tokens: 2731, cost_usd: 0.003755 });
  },
);

verifies(
  ["M-P5.4", "X-6"],
  "the golden bundle of a run that a limit refused verifies, folds, and tells which limit it was",
  () => {
    const text = read("bundle-2.2-refused.json");
    expect(verifyBundle(text, { verifySignature })).toMatchObject({
      ok: true,
      outcome: "FAILED_BUDGET_EXHAUSTED",
    });
    const { contract, entries } = foldBundle(text);
    expect(explainFailure(entries, contract)).toBe(
      "The day's limit in USD (budgets.perDayUsd) does not cover it: the next inference needs $0.003755, with $0.001 left.",
    );
  },
);

/** The message bodies of a bundle, by the names of their fields. */
function messageBodies(text: string): readonly unknown[] {
  const { bodies } = JSON.parse(text) as { readonly bodies: Readonly<Record<string, { readonly text: string }>> };
  const refs = foldBundle(text).entries.flatMap(({ result }) =>
    result?.type === "model.answered" && result.messageRef !== null ? [result.messageRef] : [],
  );
  return refs.map((ref) => JSON.parse(bodies[ref]?.text ?? "null"));
}

verifies(
  ["M-4.3/bundle", "M-4.4/bundle", "X-3"],
  "the golden bundle of contracts 1.6.0 verifies, folds, and its messages are valid under the published schema",
  () => {
    const text = read("bundle-2.2-messages.json");
    expect(verifyBundle(text, { verifySignature })).toMatchObject({
      ok: true,
      outcome: "COMPLETED_WITH_TOOLS",
      erased: [],
    });
    const schema = readFileSync(new URL("../schemas/agent-message.schema.json", FIXTURES), "utf8");
    const isMessage = Compile(JSON.parse(schema));
    const bodies = messageBodies(text);
    expect(bodies).toMatchObject([{ tool_calls: [{ source_model: "demo", raw_payload: null }] }, { tool_calls: [] }]);
    expect(bodies.every((body) => isMessage.Check(body))).toBe(true);
  },
);

test("bundles of older versions verify and fold with the camelCase names in their message bodies", () => {
  for (const name of ["bundle-2.2-asks-always.json", "bundle-2.2-images.json"]) {
    const bodies = messageBodies(read(name));
    expect(bodies.length).toBeGreaterThan(0);
    expect(bodies.every((body) => Object.hasOwn(body as object, "toolCalls"))).toBe(true);
  }
});

test("the golden bundle of a run that a restore interrupted verifies and folds: an operator let it go on", () => {
  const text = read("bundle-2.2-restored.json");
  expect(verifyBundle(text, { verifySignature: verifySignature })).toMatchObject({
    ok: true,
    outcome: "COMPLETED_WITH_TOOLS",
  });
  const restore = foldBundle(text)
    .entries.flatMap(eventsOf)
    .filter(({ type }) => type === "run.restored" || type === "restore.resolved");
  expect(restore).toMatchObject([{ type: "run.restored" }, { type: "restore.resolved", decision: "retry" }]);
});

verifies("X-3", "the golden bundle verifies offline, and not with a byte changed", () => {
  const text = read("bundle-2.2.json");
  expect(verifyBundle(text, { verifySignature })).toMatchObject({ ok: true, outcome: "COMPLETED_WITH_TOOLS" });
  const forged = text.replace("Written.", "Writtem.");
  expect(forged).not.toBe(text);
  expect(verifyBundle(forged, { verifySignature })).toMatchObject({ ok: false });
});

verifies(["M-P5.4", "X-7/volatile"], "a golden loop of machine version 2 ends although its durations differ", () => {
  const { contract, entries, folded } = foldBundle(read("bundle-2.2-cycle.json"));
  expect(contract.machineVersion).toBe(2);
  expect(folded.state.phase).toMatchObject({ outcome: "FAILED_BUDGET_EXHAUSTED", reason: "cycle" });
  const responses = entries.flatMap(({ result }) => (result?.type === "tool.finished" ? [result.response] : []));
  expect(new Set(responses.map(({ stableRef }) => stableRef)).size).toBe(1);
  expect(new Set(responses.map(({ outputRef }) => outputRef)).size).toBeGreaterThan(1);
  const first = foldRun(asRunId(entries[0]?.runId ?? ""), { ...contract, machineVersion: 1 }, entries);
  expect(first.ok).toBe(false);
});

verifies(
  ["M-P5.4", "M-4.1"],
  "a golden run of machine version 3 has its output summarised; machine 2 refused it",
  () => {
    const { contract, entries } = foldBundle(read("bundle-2.2-summarised.json"));
    expect(contract.machineVersion).toBe(3);
    const summaries = entries.flatMap(({ result }) => (result?.type === "tool.finished" ? [result.summary] : []));
    expect(summaries).toMatchObject([{ model: contract.toolOutputBudget.summarizerModel, problem: null }]);
    expect(foldRun(asRunId(entries[0]?.runId ?? ""), { ...contract, machineVersion: 2 }, entries).ok).toBe(false);
  },
);

verifies(["M-P5.4", "X-2"], "a golden run of machine version 4 is tried again from the plan that was approved", () => {
  const { contract, entries } = foldBundle(read("bundle-2.2-retried.json"));
  expect(contract.machineVersion).toBe(4);
  const intents = entries.flatMap((entry) => (entry.kind === "EXECUTE" ? [entry.decided] : []));
  expect(new Set(intents.map(({ planHash }) => planHash)).size).toBe(2);
  const [first] = entries.flatMap((entry) => (entry.kind === "OBSERVE" ? [entry.decided.heard] : []));
  expect(first).toMatchObject([
    { type: "effect.unknown" },
    { type: "effect.resolved", decision: "retry" },
    { type: "calls.planned" },
    { type: "approval.decided", decision: "allow", planHash: intents[1]?.planHash },
  ]);
  expect(foldRun(asRunId(entries[0]?.runId ?? ""), { ...contract, machineVersion: 3 }, entries).ok).toBe(false);
});

verifies(
  ["M-P5.4", "M-P4h/replay"],
  "a golden run of machine version 5 makes the one read-only call of its turn",
  () => {
    const { contract, entries, folded } = foldBundle(read("bundle-2.3-turn-limit.json"));
    expect([contract.machineVersion, contract.policyState?.autonomyBias]).toEqual([5, -3]);
    expect(entries.filter(({ kind }) => kind === "EXECUTE")).toHaveLength(1);
    const skipped = entries.flatMap((entry) => (entry.kind === "COMMIT" ? entry.decided.skipped : []));
    expect(skipped.map(({ policyId }) => policyId)).toEqual(["governance.turn-limit", "governance.turn-limit"]);
    expect(folded.state.phase).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS" });
    expect(foldRun(asRunId(entries[0]?.runId ?? ""), { ...contract, machineVersion: 4 }, entries).ok).toBe(false);
  },
);

verifies(
  ["M-P5.4", "M-P4h/replay"],
  "a golden run of machine version 5 reviews its draft and answers what the review wrote",
  () => {
    const { contract, entries, folded } = foldBundle(read("bundle-2.3-critique.json"));
    expect([contract.machineVersion, contract.policyState?.critiqueEnabled]).toEqual([5, true]);
    const asked = entries.flatMap((entry) => (entry.kind === "INFER" ? [entry] : []));
    expect(asked.map(({ decided }) => decided.mode)).toEqual(["normal", "normal", "critique"]);
    const texts = asked.map(({ result }) => (result?.type === "model.answered" ? result.textRef : null));
    expect(folded.state.phase).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS", answerRef: texts[2] });
    expect(texts[1]).not.toBe(texts[2]);
    expect(foldRun(asRunId(entries[0]?.runId ?? ""), { ...contract, machineVersion: 4 }, entries).ok).toBe(false);
  },
);

verifies(["M-P5.4", "M-C"], "a golden run of machine version 2 with only refused calls is FAILED_VALIDATION", () => {
  const { folded } = foldBundle(read("bundle-2.2-all-refused.json"));
  expect(folded.state.phase).toMatchObject({ outcome: "FAILED_VALIDATION", reason: "tool.all-failed" });
});

verifies(["M-P5.4", "O-1.2/unknown"], "a golden run of machine version 2 states that an effect is unknown", () => {
  const { entries } = foldBundle(read("bundle-2.2-unknown-effect.json"));
  const errors = entries.flatMap((entry) => (entry.kind === "OBSERVE" ? [entry.decided.error] : []));
  expect(errors).toEqual([{ code: "internal.error", retryable: false, details: { outcome: "unknown" } }]);
});

verifies(["M-P5.4", "M-P3"], "the golden bundle of a run that its provider refused keeps the provider's words", () => {
  const text = read("bundle-2.2-provider-words.json");
  expect(verifyBundle(text, { verifySignature })).toMatchObject({
    ok: true,
    outcome: "FAILED_PROTOCOL_MALFORMED",
    erased: [],
  });
  const { entries } = foldBundle(text);
  const { bodies } = JSON.parse(text);
  expect(explainFailure(entries, null, null, (ref) => bodies[ref]?.text ?? null)).toContain(
    'The provider says: "The model `m` does not exist or you do not have access to it."',
  );
  expect(explainFailure(entries, null, null, () => null)).toContain('The provider says: "[erased]"');
});

verifies(["M-P5.4", "S-2.5"], "the golden bundle of a run whose notes had unknown keys says how many", () => {
  const text = read("bundle-2.2-unknown-notes.json");
  expect(verifyBundle(text, { verifySignature })).toMatchObject({
    ok: true,
    outcome: "COMPLETED_CHAT_ONLY",
    erased: [],
  });
  const { entries } = foldBundle(text);
  const notes = entries.flatMap(({ result }) => (result?.type === "model.answered" ? [result.notes] : []));
  expect(notes).toMatchObject([
    { status: "applied", unknownKeys: 2, actions: [{ action: "unknown", status: "ignored" }] },
  ]);
});

verifies(
  ["M-P5.4", "O-2.1/bundle"],
  "the golden bundle of a run with its lifecycle events verifies, and not with another one",
  () => {
    const text = read("bundle-2.2-events.json");
    expect(verifyBundle(text, { verifySignature })).toMatchObject({ ok: true, outcome: "COMPLETED_WITH_TOOLS" });
    const { entries } = foldBundle(text);
    const { events } = JSON.parse(text);
    expect(events).toEqual(lifecycleEvents(entries));
    expect(events.map((event: { readonly event_type: string }) => event.event_type)).toEqual([
      ...[
        "run.created",
        "run.started",
        "model.requested",
        "tool.call",
        "tool.result",
        "model.requested",
        "run.completed",
      ],
    ]);
    const other = text.replace('"event_type":"tool.result"', '"event_type":"tool.resulT"');
    expect(verifyBundle(other, { verifySignature })).toMatchObject({
      ok: false,
      problem: "event 5 is not what the entries say",
    });
  },
);
