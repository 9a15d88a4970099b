/** A process of its own, for the test on a real terminal: asks one question, says what was decided, and ends by itself. */
import { styleFor } from "../../../src/adapters/terminal/style.ts";
import { terminalApprover } from "../../../src/adapters/terminal/terminal-approver.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import {
  asApprovalId,
  asBodyRef,
  asCallId,
  asHash,
  asRunId,
  asSessionId,
} from "../../../src/kernel/vocabulary/identifiers.ts";

const approver = terminalApprover({
  input: process.stdin,
  output: process.stderr,
  style: styleFor(process.stderr, true),
  clock: systemClock,
  onDecision: (_, decision) => {
    process.stderr.write(`decided: ${decision}\n`);
  },
});
approver.ask({
  id: asApprovalId("apr_1"),
  runId: asRunId("run_1"),
  sessionId: asSessionId("s"),
  callId: asCallId("c"),
  step: 1,
  kind: "approve",
  tool: "fs.write_text",
  planRef: asBodyRef("b"),
  planHash: asHash("0".repeat(64)),
  backgroundRef: null,
  background: { explain: null, provenance: [], call: null },
  why: "it asks",
  labels: { integrity: "user", confidentiality: "private" },
  createdAtMs: 0,
  expiresAtMs: 1,
  state: "pending",
  decidedBy: null,
  decidedAtMs: null,
  shown: "write",
});
