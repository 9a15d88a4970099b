/**
 * Every requirement by its id, its clauses, and the one way for a test to cite them.
 *
 * Q1. A test that cites an unknown id or clause does not run: a misspelt id would prove nothing, silently.
 * Q2. The texts are the rule column of the requirements page, word for word.
 * Q3. A rule with several clauses (clauses.ts) is proven when passing tests cite each of them; its bare id relates a test
 *     to the rule and proves nothing.
 * Q4. `proven.json` lists the ids we call proven, `withdrawn.json` those we no longer do, with the reason; the gate
 *     (test/repository/requirements-gate.ts) checks both.
 */
import { test } from "vitest";
import { CLAUSES } from "./clauses.ts";

export const REQUIREMENTS: Readonly<Record<string, string>> = {
  // S: Spectator
  "S-1.1":
    "`State`: goals, open_loops, decisions, constraints, episode_summary, memory_tags, memory_refs, capabilities_granted, capabilities_pending. Lists hold strings only; pending never holds what is granted.",
  "S-1.2":
    "`Checkpoint`: session_id, revision, updated_ts, state, recent_messages (bounded by condensation), trace_tail. Persisted atomically; revision grows by one per write; a stale revision is refused.",
  "S-1.3": "`ChatMessage`: role in system, user, assistant, tool; content string.",
  "S-2.1":
    "NOTES block between `<<<NOTES_JSON>>>` and `<<<END_NOTES_JSON>>>` is taken out of assistant content, applied to the checkpoint state, then its actions run. Absent keys change nothing.",
  "S-2.2":
    "Patch keys: set_goals, add_open_loops, close_open_loops, add_decisions, add_constraints, set_episode_summary, add_memory_tags, actions.",
  "S-2.3":
    "Actions: condense_now, condense_smart, request_permission:<cap>, grant_permission:<cap>. Unknown actions are ignored and traced.",
  "S-2.4":
    "request adds to pending unless granted; grant adds to granted and removes from pending. **Decided:** a grant counts only when its origin is an operator (CLI, admin API, control UI). The same string coming out of a model becomes a pending request and is traced with status `requires_operator`.",
  "S-2.6": "condense_now is a deterministic trim without a model; condense_smart is a summarised, budgeted compaction.",
  "S-2.5":
    "Patch and actions are traced (`notes_patch`, `actions`). A malformed NOTES block changes nothing, is traced, and never reaches the user's eyes.",
  "S-3.1":
    "Tool-call block between `<<<TOOL_CALLS_JSON>>>` and `<<<END_TOOL_CALLS_JSON>>>`: a JSON array of {id, tool, args}, ids unique within the response. Removed from user-visible text.",
  "S-3.2":
    "Tools run in order, with permission checks; each result goes back as a role=tool message whose content is JSON {id, tool, ok, output, error}.",
  "S-3.3":
    "Markers that appear inside tool output, user text or retrieved memory are inert: only assistant output is ever parsed.",
  "S-4.1":
    "Baseline tools with their exact parameters and defaults: fs.read_text, fs.list_dir, fs.write_text, shell.exec, http.get.",
  "S-4.2":
    "Filesystem tools stay under the sandbox root; every path escape is denied (`..`, absolute, symlink, hard link race, NUL, Windows forms).",
  "S-4.3":
    "shell.exec runs in the sandbox's cwd, allowlisted, with dangerous substrings denied. **Decided:** argv is parsed, never passed to a shell unless policy says so; the substring list is a tripwire on top, not the defence; an OS sandbox is the defence.",
  "S-4.4":
    "http.get is denied unless granted: `net` or `net:<domain>`; with a global allowlist `net` reaches only allowlisted domains, `net:<domain>` overrides it.",
  "S-4.5": "http.get caches in SQLite with a TTL and answers from the cache while fresh; `use_cache:false` bypasses.",
  "S-5.1": "Retrieved items carry stable ids; injected in the system prompt in exactly the seed's block.",
  "S-5.2":
    "`[mem:<id>]` citations in answers are recognised, checked against what was retrieved, and shown as links in the UI.",
  "S-6.1": "Trace JSONL: ts, kind, data; all nine kinds.",
  "S-7.1": "Backend: chat(request) and stream_chat(request, cancel). Cancel stops the request on the wire.",
  "S-7.2": "Tool and fetch failures become ok=false results; the loop never crashes on them.",
  // O: Openclawssy
  "O-1.1":
    "Tool request envelope, required fields, input validated against the tool's schema, timeout_ms default 30000 clamped by config.",
  "O-1.2": "Response envelope: ok=true needs error=null; ok=false needs error.code and error.message and no output.",
  "O-1.3":
    "Error shape {code, message, retryable, details}; canonical codes only in tool envelopes (the HTTP API has more, design §7).",
  "O-2.1":
    "Lifecycle events in the required order, one terminal event, seq strictly increasing per run, minimum fields. **Decided:** steps 3–5 repeat; each tool.result follows its call.",
  "O-2.2": "After 2 consecutive failing tool results the next model turn runs in explicit recovery mode.",
  "O-2.3":
    "3 more failing results while in recovery: a terminal answer that asks for guidance, with recent attempts, errors and output snippets. **Decided:** outcome FAILED_BUDGET_EXHAUSTED, reason `tool_failure_escalation`; the answer is still delivered.",
  "O-2.4": "Recovery clears after sustained success. **Decided:** 2 successes in a row.",
  "O-3.1": "Audit JSONL, append-only, one file per agent and UTC day, base schema.",
  "O-3.2": "Sensitive values redacted before the write; `redactions` lists the JSON paths.",
  "O-4.1":
    "Job record {id, agentID, schedule, message, enabled, lastRun}; id generated when not given; without agent or message it is stored but not runnable (slot `skipped`).",
  "O-4.2": "`@every <Go duration>` or one-shot RFC3339; cron expressions are rejected with a clear error.",
  "O-4.3":
    "Missed jobs: interval jobs run at most once on the next check; past one-shots run once and are disabled. Survives restarts.",
  "O-5.1":
    "Bind 127.0.0.1 by default; bearer token required on everything but health, static UI files and the login exchange. Constant-time comparison.",
  "O-5.2":
    "POST /v1/runs → 202 {id, status}; agent_id and message required; thinking_mode never, on_error, always; omitted → config `output.thinking_mode`.",
  "O-5.3": "GET /v1/runs with status, limit (50, max 500), offset, total.",
  "O-5.4": "GET /v1/runs/{id} with the whole record and trace; each tool gives a short display `summary`.",
  "O-5.5": "Queue overload → `queue.full` (429). Nothing accepted is ever lost.",
  "O-5.6":
    "POST /v1/chat/messages → 202 with session_id when one is associated, or 200 for commands (/new, /resume, and the ones users expect: /help, /status, /stop, /model, /compact).",
  "O-5.7": "Per-sender rate limit → `chat.rate_limited` with retry_after_seconds (429).",
  "O-6.1":
    "Context policy Option A: tool executions replayed as role=tool, normalised text; caps 1400, 220, 320, 1000, 12000; oldest dropped first.",
  "O-6.2": "Admin APIs, all of the list.",
  "O-6.3": "GET /healthz; error shape on every HTTP error.",
  // T: Talon
  "T-1.1":
    "WebSocket at the gateway's root, port 19789, envelope {id, type, timestamp, payload}, all eleven types; clients send channel.message only. Media on inbound messages: shape, caps, storage, and the way to a vision model.",
  "T-1.2":
    "HTTP: /, /chat, /api/health, /api/sessions, /api/sessions/:id, POST /api/sessions/:id/send, GET and PATCH /api/config (hot reload), /api/tools.",
  "T-2.1": "Lifecycle created → active → idle (30 min default; memory freed) → resumed → active.",
  "T-2.2": "Session and Message structures.",
  "T-2.3": "Routing: DM by sender, group by group id, `mention` and `always` activation, cross-channel identity links.",
  "T-3.1":
    "AgentLoop: run() is an AsyncIterable of AgentChunk; getState() is a LoopState. Phases are a projection of the M-5 machine.",
  "T-3.2": "At most 10 iterations by default, configurable.",
  "T-3a": "Model router: selectModel, estimateCost, getModelTiers; the routing table. Never a silent fallback (P-0).",
  "T-3b":
    "Sub-agents: spawn, spawnParallel, getAgents; five built-ins with their output schemas; about 500 tokens of context, never the history. Children are runs with contracts of their own, `parent_contract_hash` set, budgets carved out of the parent's.",
  "T-3c":
    "Memory manager: buildContext, compress, getStats, truncateToolOutput; the context budget; never the full history, never full tool logs.",
  "T-3d": "LLMClient: chat, countTokens, getModelInfo.",
  "T-4.1": "ToolRegistry: register, getToolDescriptions, execute, isAllowed; ToolResult.",
  "T-4.2":
    "Confirmation flow: destructive calls ask the channel, [Allow] [Deny]; deny is a result the agent sees (`denied by user`). Survives a restart while waiting.",
  "T-5.1": "Shadow loop: filesystem, shell-history and git watchers with the whole config.",
  "T-5.2": "Ghost messages with actions; cooldown 30000 ms; 10 per hour.",
  "T-6": "Event bus emit, on, off, once and the ten key events.",
  // M: Monolith
  "M-A": "The runtime executes canonical messages only.",
  "M-B": "The contract is immutable after the first inference: deeply frozen, hash checked at every commit.",
  "M-C": "tool_policy=required cannot succeed with zero validated, executed tool calls.",
  "M-D": "UI state derives from machine state + typed outcome, shown with its state digest.",
  "M-E":
    "Every transition appends an immutable transcript entry with contract_hash, step_id, state and boundary metadata.",
  "M-F": "required + token_gate: no terminal free text before a validated tool call.",
  "M-4.1":
    "ExecutionContract with all its fields; max_format_retries ≤ 1 hard. **Decided:** `tool_policy` gains `optional` for everyday chat; strict profiles refuse it.",
  "M-4.2": "ProtocolAdapterResult; strict mode knows native and rejected only; recovered is for non-strict contracts.",
  "M-4.3": "AgentMessage {role, content, tool_calls}.",
  "M-4.4": "ToolInvocation {id, name, arguments, source_model, raw_payload}.",
  "M-4.5": "The ten outcomes, disjoint, the only way a run ends.",
  "M-5": "The state machine, authoritative; no early return around accounting; TERMINATE is entered from COMMIT only.",
  "M-7.5": "strict_mode exhaustive: recovery, retries and gating (design §4).",
  "M-P1":
    "Baseline metrics on a corpus: no-tool completion rate, parse failure rate, mean and p95 inferences, mean and p95 duration, max-step exits.",
  "M-P2a":
    "Adapters are versioned and deterministic by input hash; one transcript entry per adapter decision; prompt and protocol match per model_profile_id.",
  "M-P2b": "All five preflight checks; retry ladder; exhaustion → FAILED_PROTOCOL_MALFORMED.",
  "M-P3":
    "Unified budget accounting; malformed tool result → FAILED_VALIDATION; partial execution recorded; forced synthesis at the ratio; replay gives the same outcome class; UI and runtime digests agree.",
  "M-P4a": "RunSummary: immutable; outcome, tools used, steps, timing, error log.",
  "M-P4b":
    "PerfVector: protocol compliance, retry count, budget efficiency, duplicate call ratio, anomaly ignored count, hard failures; dominance GREEN/YELLOW/RED; hard failures override all other signals.",
  "M-P4c":
    "PolicyState: retry_tolerance, step_limit_multiplier, autonomy_bias, verbosity_bias, critique_enabled (deterministic gate only); clamped to tier ceilings, always.",
  "M-P4d":
    "PolicyDelta: one transaction, linked to run_id, dominance-triggered, no contradictory mutations; only after RunSummary and PerfVector are written.",
  "M-P4e": "Warm-up guard: no mutation before the stability threshold.",
  "M-P4f":
    "PolicyCheckpoint ring buffer: snapshot, rolling averages, tier-scoped baselines; higher tier = faster mutation, stricter regression tolerance.",
  "M-P4g": "Regression detection against the best checkpoint, rollback, freeze for N runs.",
  "M-P4h": "A sealed contract is never altered; replay of earlier runs is unaffected.",
  "M-P5.1":
    "Hash chain `H_n` exactly as given (action_hash and result_hash as in design §5); replay names the first diverging entry.",
  "M-P5.2":
    "Grammar-constrained decoding profiles by policy: the runtime derives the constraint, the adapter applies it.",
  "M-P5.3": "Provider/model conformance suite anyone can point at a provider.",
  "M-P5.4": "Versioned migrations for contract and adapter formats.",
  "M-9": "The six-case corpus passes for every model profile, with the outcomes of design §4.",
  // P: Sophie
  "P-0": "Determinism, fail-closed, privileged side effects, no silent downgrade.",
  "P-1.1": "Provider `moonshot`, openai_compatible, its base URL.",
  "P-1.2": "JSON5 config in the canonical shape; secrets in config are refused; unknown keys rejected by Zod.",
  "P-1.3":
    "Key from the environment only; otherwise exactly `Missing MOONSHOT_API_KEY`; never logged; no other provider tried.",
  "P-1.4": "`provider:model` or {provider, model}; resolveConfiguredModelRef().",
  "P-1.5": "Per-model context window; OverBudgetError before any network; the minimum clamp for local providers only.",
  "P-1.6":
    "startupValidation strict, warn (default), off; strict fails only when the default model cannot be validated; one actionable line.",
  "P-2.1": "Prompt stack order, inspectable as a manifest of hashes and versions.",
  "P-2.2": "versionId and sha256 of the base prompt.",
  "P-2.3": "`src/prompts/sophie_base_prompt_v1.txt`, getBasePrompt().",
  "P-2.4":
    "Deterministic channel classifier → policy prompt id, logged in the manifest; enforced by the runtime: streaming for cli_local only, approval to send on external_email, final-only on external_message.",
  "P-2.5":
    "System prompts are never revealed; asked, the assistant refuses and explains at a high level; an outgoing answer that repeats one is stopped by the runtime, not by the model's good will.",
  "P-3.1":
    "Tool parameters in TypeBox; a lint at registration refuses unions where an enum serves, and properties named `format`.",
  "P-3.2": "Allowlist by tool, channel and risk class; fail-closed.",
  "P-3.3":
    "read_only, draft_only, side_effect; side effects need gate + approval unless an explicit exception; the honeypot exception with all five conditions.",
  "P-3.4": "One error code, an actionable message, no stack and no partial trace to external channels.",
  "P-4.1": "Per-request log record.",
  "P-4.2": "Never logged: keys, raw prompts, raw bodies, attachments.",
  "P-4.3": "SHA-256, stable across platforms.",
  "P-4.4": "logs/<provider>/ and logs/gateway/ under the home; size cap, max files.",
  "P-4.5": "Redaction of secret patterns, and of emails and phones when configured.",
  "P-5.1": "Session key `agent:{agentId}:{channel}:{accountId}:dm:{peerId}`.",
  "P-5.2":
    "`agents/{agentId}/sessions/{sessionKey}.jsonl` under the home. **Decided:** the home is `~/.surety`, or `SURETY_HOME`; `surety migrate --from ~/.clawdbot` brings an old one along.",
  "P-5.3":
    "Compaction on overflow: keeps prompt invariants and the last N turns, writes a summary with evidence pointers; maxTurns, maxBytes.",
  "P-5.4": "Secrets redacted in sessions.",
  "P-5.5": "External sessions store no partial assistant chunks; local ones may, if enabled.",
  "P-6": "The contract test matrix, all five groups.",
  "P-7":
    "Contract changes carry a version bump, a changelog entry with its approver, and updated fixtures; CI fails when a schema changed without them.",
  // X: beyond the seeds
  "X-1":
    '**Effect proof.** A contract may name the effects it requires (tool patterns with argument predicates). Success is unreachable without a matching, executed, validated call. "Done, I sent the mail" with no call ends FAILED_PROTOCOL_NO_TOOLS.',
  "X-2":
    "**Intent journal.** Intent durable before an effect, outcome after; a killed process resumes every accepted run from the journal; what tools promise after a crash is the table in `security.md`. The runtime, not the prompt, blocks repeats.",
  "X-3":
    "**Run bundle.** `surety runs export <id>` writes one file that `surety verify <file>` checks offline on another machine: canonical JSON, hash chain, Ed25519-signed head; the first bad entry is named.",
  "X-4":
    "**Replay and what-if.** `surety replay <id>` re-executes from recorded results with no network: same outcome, same head hash. `--policy <file>` shows which recorded calls a changed policy would now decide otherwise; `surety policy test` does that over all recorded runs.",
  "X-5": "**Labels.** Information-flow labels at the tool gate (`security.md`, decision 3).",
  "X-6":
    "**Hard spending limits by reservation.** USD, tokens and wall clock per run, agent, job and day, reserved before the network and settled after; where a USD limit applies, an unpriced model is refused unless declared free. An idle gateway makes no model call.",
  "X-7":
    "**Cycle ban, on by default.** The same call with the same result three times, or an alternating pair, ends the run (design §4). Within one batch identical read-only calls with no side effect between share one execution.",
  "X-8":
    "**Lossless compaction.** A summary is a derived artefact with evidence pointers; call/result pairs are kept together; a failed compaction leaves the session as it was; the original stays readable.",
  "X-9":
    "**Grammar-gated local models.** A GGUF model in process (node-llama-cpp) whose decoding is constrained by the contract: even random weights cannot produce a malformed or missing call in strict required mode.",
  "X-10": "**Receipt.** Every answer names the model that gave it, tokens, cost, contract hash, outcome and head hash.",
  "X-11": "**Scheduler slots.** Every due slot ends as ran, skipped (why) or missed, once, across restarts and nodes.",
  "X-12":
    "**Approval binding.** Bound to the plan's hash, durable, single-use, denied at once when no approver can be reached, default deny at timeout.",
  "X-13":
    "**Inbox and outbox.** Every inbound message is durable before it is acknowledged, deduplicated by the channel's own id, and ends in a typed state; deliveries are retried, and an ambiguous send is shown as ambiguous.",
  "X-14":
    "**MCP.** Client (stdio and streamable HTTP; its tools come under the same policy, labels and approvals) and server (`/mcp` and `surety mcp`).",
  "X-15":
    "**OpenAI-compatible.** `/v1/chat/completions` (streaming too), `/v1/responses`, `/v1/models`: the official client works unchanged.",
  "X-16": "**Agent Skills** (`SKILL.md`, progressive disclosure, hash-pinned) and `AGENTS.md`.",
  "X-17":
    "**Channels for real**: web, terminal, Telegram, Discord, Slack, e-mail, generic webhook; each with approvals as buttons or replies, typing or progress where the channel has it.",
  "X-18": "**OpenTelemetry** (GenAI conventions) and `/metrics` for Prometheus, off unless configured.",
  "X-19":
    "**First hour.** `surety init` (wizard), `surety doctor` (finds and fixes), `surety service install` (systemd, launchd), `surety migrate --from` an OpenClaw or Clawdbot home, shell completion.",
  "X-20":
    "**More than one machine.** The same gateway on several nodes over an existing distributed engine; killing any node loses nothing and doubles nothing.",
  "X-21":
    "**Footprint.** Start to first healthy answer, idle memory, install size and base prompt an order of magnitude below OpenClaw's, measured side by side.",
  "X-22": "**Editors.** ACP (agent client protocol) over stdio.",
  "X-23":
    "**Pairing.** Unknown senders get a code and reach no model until an operator accepts them; approvals go to the operator's chosen channel, never to an unpaired sender.",
  "X-24":
    "**Ledger.** Operator acts, run creations and seals stand in a hash chain of their own with signed checkpoints, so that a missing run is noticed.",
  "X-25": "**Erasure.** Forgetting removes content everywhere in the home while every chain still verifies.",
  "X-26":
    "**Looking after itself.** Backup and restore, retention and disk quota, schema upgrade with refusal to downgrade.",
  "X-27": "**Web search** as a tool with configurable backends (the ResearchAgent needs one), under the same gates.",
};

export function verifies(
  ids: string | readonly string[],
  title: string,
  body: () => void | Promise<void>,
  timeoutMs?: number,
): void {
  test(citedTitle(ids, title), body, timeoutMs);
}

/** What a test has to cite for a rule to be proven: its clauses, or the rule itself where it has none. */
export function citationsFor(id: string): readonly string[] {
  const clauses = Object.hasOwn(CLAUSES, id) ? Object.keys(CLAUSES[id] ?? {}) : [];
  return clauses.length === 0 ? [id] : clauses.map((clause) => `${id}/${clause}`);
}

/** `[S-3.2/order][X-1] title`: the gate reads the citations back out of the titles of passed tests. */
export function citedTitle(ids: string | readonly string[], title: string): string {
  const cited = typeof ids === "string" ? [ids] : ids;
  if (cited.length === 0) throw new Error(`"${title}" cites no requirement: use test() instead.`);
  const unknown = cited.filter((id) => !isKnown(id));
  if (unknown.length > 0) throw new Error(`"${title}" cites unknown requirements: ${unknown.join(", ")}`);
  return `${cited.map((id) => `[${id}]`).join("")} ${title}`;
}

function isKnown(citation: string): boolean {
  const [id = ""] = citation.split("/");
  return Object.hasOwn(REQUIREMENTS, id) && (citation === id || citationsFor(id).includes(citation));
}
