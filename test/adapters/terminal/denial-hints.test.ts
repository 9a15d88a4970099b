/** Hints about denied calls offer only what helps. */
import { expect, test } from "vitest";
import { type Denial, denialHints } from "../../../src/adapters/terminal/denial-hints.ts";
import type { OperationClient } from "../../../src/assistant/operations.ts";
import type { RunRecord } from "../../../src/kernel/journal/views/run-record.ts";

const operations = {
  call: () => Promise.resolve({ ok: true, value: { granted: [], pending: [], details: [] } }),
} as unknown as OperationClient;
const record = { session_id: "ses_1" } as RunRecord;
const hintsFor = (...denials: readonly Denial[]) => denialHints(operations, record, denials);

test("a tool that the contract does not list: one hint for each tool", async () => {
  const unlisted = { tool: "shell.exec", policyId: "policy.contract", answer: null };
  expect(await hintsFor(unlisted, unlisted)).toEqual([
    "Why this run may not call shell.exec: surety policy explain shell.exec '{…}'",
  ]);
});

test("nobody answered: what allows it; a person said no: nothing", async () => {
  const asked = { tool: "fs.write_text", policyId: "policy.risk.side_effect" };
  expect(await hintsFor({ ...asked, answer: "unreachable" })).toEqual([
    expect.stringContaining("--approve fs.write_text"),
  ]);
  expect(await hintsFor({ ...asked, answer: "deny" })).toEqual([]);
});
