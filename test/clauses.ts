/**
 * The clauses of rules that promise several things, by rule and name. A test cites a clause as `S-3.2/order`.
 * Rules that are not here promise one thing and are cited by their id.
 */
export const CLAUSES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // S: Spectator
  "S-1.1": {
    fields: "The nine fields of the state, and no other.",
    strings: "Lists hold strings only.",
    pending: "Pending never holds what is granted.",
  },
  "S-1.2": {
    fields: "session_id, revision, updated_ts, state, recent_messages and trace_tail.",
    bounded: "Condensing bounds recent_messages.",
    atomic: "It is written whole or not at all, also by a process that dies.",
    revision: "Each write raises the revision by one.",
    stale: "A stale revision is refused; of two writers one writes.",
  },
  "S-2.1": {
    hidden: "The block between the markers is taken out of what is said.",
    applied: "It changes the checkpoint's state.",
    actions: "Then its actions run.",
    absent: "Absent keys change nothing.",
  },
  "S-2.4": {
    request: "A request adds the capability to pending, unless it is granted.",
    grant: "A grant adds it to granted and removes it from pending.",
    operator: "A grant counts only from an operator: by command or over HTTP.",
    model: "A grant out of a model becomes a pending request, traced with status `requires_operator`.",
  },
  "S-3.1": {
    block: "A JSON array of {id, tool, args} between the two markers becomes calls.",
    ids: "Ids are unique within the response.",
    hidden: "The block is removed from user-visible text, streamed or whole.",
  },
  "S-3.2": {
    order: "Tools run in the order the model proposed them; results are recorded and go back in that order.",
    permission: "A call runs only after a permission check; a refused call is answered and not performed.",
    result: "Each result is a role=tool message whose content is JSON {id, tool, ok, output, error}.",
  },
  "S-3.3": {
    "tool-output": "Markers in tool output reach a model escaped.",
    "user-text": "Markers in user text reach a model escaped.",
    inert: "Escaped text holds no marker, however texts are joined; retrieved memory goes this way.",
  },
  "S-5.1": {
    ids: "Retrieved items carry stable ids: the same memory has the same id in every run, and in the trace.",
    block: "They are injected in exactly the seed's block.",
    prompt: "The block is in the system prompt.",
  },
  "S-5.2": {
    recognised: "`[mem:<id>]` in an answer is recognised as a citation.",
    checked: "It is checked against what the run retrieved; any other is shown as such.",
    links: "A citation is shown as a link in the UI.",
  },
  "S-4.1": {
    "fs.read_text": "{path, max_bytes=20000}",
    "fs.list_dir": '{path=".", max_entries=200}',
    "fs.write_text": "{path, text, overwrite=false}",
    "shell.exec": "{cmd, timeout_s=20}",
    "http.get": "{url, use_cache=true}",
  },
  "S-4.2": {
    paths: "`..`, absolute paths, NUL and Windows forms are denied.",
    symlink: "A symlink is never followed out of the root.",
    "hard-link": "A file with another name outside is not read or changed through it.",
    race: "A directory or file that is swapped during a call is not followed.",
  },
  "S-4.3": {
    cwd: "The command runs in the sandbox's working directory.",
    allowlist: "A program that is not allowlisted is denied.",
    tripwire: "Dangerous substrings are denied on top.",
    argv: "argv is parsed, never passed to a shell.",
    sandbox: "An OS sandbox is the defence: without one nothing runs.",
  },
  "S-4.4": {
    denied: "http.get is denied unless a capability is granted.",
    capability: "`net` and `net:<domain>` open what they name.",
    allowlist: "With a global allowlist `net` reaches only its domains; `net:<domain>` overrides it.",
  },
  "S-4.5": {
    cache: "A fresh page is answered from a SQLite file, also after a restart; a stale one is fetched again.",
    bypass: "`use_cache:false` bypasses the cache.",
  },
  "S-7.1": {
    chat: "chat(request) answers once, in one document.",
    stream_chat: "stream_chat(request, cancel) yields the answer in pieces while it is written.",
    cancel: "Cancel stops the request on the wire.",
  },
  "S-7.2": {
    tool: "A failing tool becomes an ok=false result.",
    fetch: "A failing fetch becomes an ok=false result.",
    loop: "The run goes on after it.",
  },
  // O: Openclawssy
  "O-2.1": {
    order: "Events come in the required order, each result after its call, with one terminal event, the last.",
    seq: "seq is strictly increasing in a run, whatever happens.",
    fields: "Each event has the minimum fields.",
    files: "They are in the audit log and in the folder of the run.",
    bundle: "They are in the exported bundle, which verifies with no other ones.",
  },
  "O-5.6": {
    accepted: "A message is answered 202, with its session_id.",
    commands: "/new, /resume, /help, /status, /stop, /model and /compact are answered 200, without a model.",
  },
  "O-5.7": {
    refused: "A sender who writes too fast gets 429 `chat.rate_limited` with retry_after_seconds.",
    sender: "Other senders are not held up.",
  },
  "O-6.1": {
    tool: "Tool executions of earlier turns are sent as role=tool, in the seed's words, never at full size.",
    message: "A message is cut at 1400 code points.",
    summary: "The summary of a result is cut at 220.",
    error: "The error of a result is cut at 320.",
    output: "The output of a result is cut at 1000.",
    total: "The messages of a session are 12000 code points together.",
    oldest: "The oldest is dropped first.",
    pairs: "A call and its result stay together.",
  },
  "O-1.2": {
    success: "ok=true needs error=null.",
    failure: "ok=false needs error.code and error.message.",
    output: "ok=false has no output.",
    recorded: "The recorded response names request, run, tool and when it finished.",
    unknown: "An effect whose result is never learned is internal.error, not retryable, details.outcome unknown.",
  },
  "O-1.3": {
    shape: "An error is {code, message, retryable, details}.",
    codes: "A tool envelope has canonical codes only.",
  },
  "O-2.2": {
    mode: "After 2 consecutive failing results the next turn has mode recovery, and no earlier.",
    instruction: "The model gets the recovery instruction in that turn.",
  },
  "O-2.3": {
    escalation: "3 more failing results end the run FAILED_BUDGET_EXHAUSTED, reason tool_failure_escalation.",
    answer: "The answer asks for guidance with recent attempts, errors and output snippets.",
    delivered: "The answer is the record's output, though the run failed.",
  },
  "O-4.1": {
    record: "The record is {id, agentID, schedule, message, enabled, lastRun}, kept as JSON; over HTTP it is agent_id.",
    id: "An id is made when none is given; one that exists is not taken over.",
    "not-runnable": "Without an agent or a message it is stored, and its slots are skipped.",
  },
  "O-4.2": {
    every: "`@every` takes a Go duration from 10 seconds to 366 days.",
    once: "One time in RFC 3339, strictly, stored in UTC.",
    cron: "Cron is refused with what to write instead.",
  },
  "O-4.3": {
    interval: "After a gap an interval job runs once on the next check, and continues from that run.",
    once: "A one-shot in the past runs once on the next check and is then disabled.",
    restart: "Both hold across restarts.",
  },
  "O-5.1": {
    bind: "The gateway binds 127.0.0.1 by default.",
    token: "Everything but health needs the bearer token (UI files and login do not exist yet).",
    "constant-time": "The token is compared by timingSafeEqual over equal lengths: shown in the source, not by timing.",
  },
  "O-5.2": {
    request: "POST /v1/runs answers 202 {id, status}; agent_id and message are required.",
    modes:
      "thinking_mode shows thoughts never, of failed runs, or always, on local channels only, never in the answer.",
    config: "Without it output.thinking_mode counts.",
  },
  "O-5.3": {
    query: "status, limit and offset select the runs; limit is 50 by default and 500 at most.",
    total: "total counts all that match.",
  },
  "O-5.5": {
    full: "Overload is refused with queue.full, 429.",
    kept: "Nothing that was accepted is lost.",
  },
  "O-6.3": {
    healthz: "GET /healthz answers without a token.",
    errors: "Every HTTP error has the one shape.",
  },
  // T: Talon
  "T-1.2": {
    pages: "GET / and GET /chat are the control UI.",
    health: "GET /api/health answers.",
    sessions: "GET /api/sessions lists sessions, GET /api/sessions/:id shows one with its history.",
    send: "POST /api/sessions/:id/send sends a message to it.",
    config: "GET and PATCH /api/config read and change the configuration.",
    reload: "A change applies to what begins from then on, without a restart.",
    tools: "GET /api/tools lists the registered tools.",
  },
  "T-2.1": {
    states: "created → active → idle → resumed → active.",
    default: "A session is idle after 30 minutes.",
    memory: "An idle session's memory is freed.",
  },
  "T-2.3": {
    dm: "Direct messages go by sender.",
    group: "Groups go by group id.",
    activation: "A group is answered on `mention` or `always`, as configured.",
    links: "Linked identities share a session across channels.",
  },
  "T-3.2": {
    default: "A run has at most 10 inferences by default.",
    configurable: "The contract may set another maximum, and it holds.",
  },
  "T-3a": {
    select: "selectModel sends each kind of task to its tier, by the routing table.",
    cost: "estimateCost uses the chosen model's prices.",
    tiers: "getModelTiers lists the configured models by tier.",
    fallback: "A fallback is named with its reason, never silent.",
  },
  "T-3d": {
    chat: "chat(params) yields the answer's text and calls, streamed or whole.",
    params: "maxTokens and temperature reach the wire of both protocols; temperature is omitted when unset.",
    "count-tokens": "countTokens counts a text as the model's tokenizer does, once that is loaded.",
    "model-info": "getModelInfo is the configured model's ModelConfig.",
  },
  "T-3b": {
    spawn:
      "SubAgentManager.spawn gives one task to a sub-agent and resolves with its typed result, tokens, cost and duration.",
    parallel: "Several tasks work at the same time, each in a lane of its own; spawnParallel keeps their order.",
    agents: "getAgents lists the five built-in agents and the operator's own, with prompt, model and output schema.",
    form: "An answer that does not fulfil the agent's output schema is asked for once more, and then fails.",
    failures: "A failed, starved or cancelled child is a typed failure of its call, and of no other.",
    context: "A child sees its task and about 500 tokens of context; more is refused. It sees no history.",
    contracts: "Children are runs with contracts of their own, and parent_contract_hash names their parent's.",
    carved: "Their budgets are carved out of their parent's, and what they do not use returns.",
    authority:
      "They have no tool, capability or approval that their parent has not; ResearchAgent reads the web under the same gates.",
    labels: "They inherit their parent's labels, and theirs join back into it.",
    cancel: "Cancelling the parent cancels them.",
    crash: "After a crash the parent finds the same children again, and each result is in its journal once.",
    results: "Tokens and cost of the children are in their parent's receipt.",
  },
  "T-4.1": {
    register: "A registered tool passes the same checks as a built-in one, and is denied until policy lists it.",
    descriptions: "Every registered tool is described, with its schema.",
    execute: "execute is a run: planned, decided by policy, approved where policy asks, journaled and verifiable.",
    allowed: "isAllowed follows the policy of the session's channel.",
    result: "ToolResult has success, output and metadata: executionTime, truncated, confirmation.",
  },
  "T-5.1": {
    config: "The whole ShadowConfig, off by default: what is not enabled or not listed is not watched.",
    filesystem: "Files that are added, changed or removed below the configured paths are noticed.",
    detectors: "Syntax errors in JSON, YAML, TypeScript and Python, and a test without its source, are found in them.",
    shell: "Plain history is watched, and exit codes as the shell hook reports them.",
    git: "Commits, pushes and merge conflicts are noticed: a secret in a commit, a large binary staged.",
    paths: "Nothing outside the configured paths is read, links included.",
    bounded: "Whatever changes, the backlog stays bounded and the gateway answers.",
    idle: "Without a decision of a person no model is called.",
  },
  "T-5.2": {
    message: "A ghost has trigger, observation, proposal, confidence and actions, as the seed writes them.",
    action: "An action carries a plan id and becomes a run, with labels private and untrusted; dismissing starts none.",
    cooldown: "30 seconds pass between two ghosts, or as configured, over a restart too.",
    hourly: "At most 10 appear in an hour, or as configured, over a restart too.",
    states: "Ghosts are listed, survive a restart, and are decided once; what is no longer so settles.",
  },
  "T-6": {
    methods: "emit, on, off and once do what they say.",
    events: "The ten key events, by the seed's names, and no other.",
    emitted: "A home emits what happens in it; those of the shadow loop while that is enabled.",
    handlers: "A slow or throwing handler hurts no run, no emitter and no other handler.",
  },
  // M: Monolith
  "M-A": {
    boundary: "A run records, plans and performs what the contract's adapter read of an output, and nothing else.",
    source:
      "Raw output is read by model backends, protocol adapters, the code that joins them, and LLMClient (no run).",
  },
  "M-B": {
    frozen: "The contract is deeply frozen.",
    checked: "Its hash is checked at every commit.",
  },
  "M-E": {
    append: "Every transition appends an entry, without a gap.",
    fields: "An entry has contract_hash, step_id, state and the boundary metadata.",
    immutable: "A changed, missing or moved entry is found.",
  },
  "M-F": {
    kernel: "No text is told before a validated call, whatever happens.",
    stream: "Nothing is streamed before a call was performed.",
  },
  "M-4.1": {
    fields: "Every field is required, in both versions.",
    retries: "max_format_retries is at most 1.",
    optional: "`optional` serves everyday chat; a strict contract refuses it.",
  },
  "M-4.2": {
    result: "An adapter answers with a canonical message or a known failure code, by its version and the raw hash.",
    strict: "Strict mode knows native and rejected only.",
    lenient: "Recovered is for non-strict contracts.",
  },
  "M-4.3": {
    schema: "A message has role, content and tool_calls, each of its kind, and no other field.",
    bundle: "Message bodies in a bundle have these names.",
  },
  "M-4.4": {
    schema:
      "An invocation has id, name, arguments, source_model and raw_payload, each of its kind, and no other field.",
    bundle: "Invocations in a bundle have these names.",
  },
  "M-4.5": {
    ten: "Each of the ten outcomes is reached.",
    one: "A run ends at most once, in one of the ten.",
  },
  "M-5": {
    edges: "Entries follow the seed's edges.",
    accounting: "Whatever ends a run, it is accounted for.",
    terminate: "TERMINATE is entered from COMMIT only.",
  },
  "M-7.5": {
    recovery: "Strict mode recovers nothing.",
    retries: "Retries are bounded in strict mode as elsewhere.",
    gating: "strict_mode with required forces the token gate on; one refused call refuses the batch.",
  },
  "M-P1": {
    rates: "No-tool completion rate and parse failure rate.",
    inferences: "Mean and p95 of inferences and of duration.",
    exits: "Max-step exits.",
  },
  "M-P4b": {
    vector:
      "Protocol compliance, retry count, budget efficiency, duplicate call ratio, anomaly ignored count, hard failures.",
    dominance: "Dominance GREEN, YELLOW or RED.",
    hard: "Hard failures override all other signals.",
    anomaly: "An anomaly is ignored by a fixed rule: a failed or truncated result that the answer does not mention.",
  },
  "M-P4c": {
    parameters: "The five parameters, each with its effect on later contracts.",
    ceilings: "They are clamped to the tier's ceilings, always.",
    gate: "critique_enabled is switched by a fixed predicate, never by a score.",
  },
  "M-P4d": {
    transaction: "A delta is written in one transaction with its ledger entry, or not at all.",
    run: "It is linked to the run that triggered it.",
    dominance: "Only a run that is not GREEN triggers a mutation.",
    contradiction: "No delta moves a parameter both ways, nor two at once.",
    after: "It is written only after the run's summary and vector are.",
  },
  "M-P4f": {
    ring: "Checkpoints are a ring: snapshot and rolling averages.",
    tiers: "Baselines are a tier's own.",
    speed: "A higher tier moves faster and tolerates less.",
  },
  "M-P4g": {
    regression: "What is worse than the best checkpoint is noticed.",
    rollback: "The state before comes back.",
    freeze: "Then nothing is moved for N runs.",
  },
  "M-P4h": {
    contract: "A sealed contract is never altered; it records the state it was drafted under.",
    replay: "Earlier runs replay unchanged after any number of mutations.",
  },
  "M-P2a": {
    versions: "An adapter is found by its version; an unknown version is none.",
    deterministic: "The same input hash gives the same decision.",
    transcript: "Each adapter decision has one transcript entry.",
    prompt: "The prompt describes the protocol that the profile's adapter reads, and no other.",
  },
  "M-P2b": {
    preflight: "All five checks, in one order.",
    ladder: "A malformed answer is retried at most max_format_retries times; a retry is an inference.",
    exhaustion: "Exhaustion ends FAILED_PROTOCOL_MALFORMED.",
  },
  "M-P3": {
    budget: "Inferences, tokens, output and time are accounted for in one budget, and hold.",
    malformed: "A malformed tool result ends FAILED_VALIDATION.",
    partial: "Partial execution is recorded.",
    synthesis: "Synthesis is forced at the ratio, and the model gets its instruction.",
    replay: "Replay gives the same outcome.",
    digest: "The digest of a view and of the runtime agree.",
  },
  "M-P5.1": {
    chain: "H_n is hashed exactly as given.",
    divergence: "Verification and replay name the first diverging entry.",
  },
  "M-P5.2": {
    derived:
      "The constraint is a function of contract and tool schemas; a schema outside the subset is refused by its path.",
    policy: "The policy chooses the profile, and each inference is held to what its turn allows.",
    applied: "Backends apply it: GBNF in this process, response_format at a server.",
    preflight: "A profile that cannot hold what the contract asks fails preflight, by name.",
    whole: "Only an answer that ended, parses and fits its schema is accepted.",
  },
  "M-P5.3": {
    provider: "The suite runs against any configured provider, over both wires and profiles.",
    findings: "It names what a model fails at.",
  },
  "M-9": {
    cases: "Each of the six cases ends as design §4 says.",
    profiles: "The corpus passes for every model profile.",
  },
  // P: Sophie
  "P-0": {
    determinism: "The machine's step is deterministic.",
    "fail-closed": "What no list allows is denied.",
    "side-effects": "A side effect needs policy and approval.",
    downgrade: "No other provider or model is tried in silence.",
  },
  "P-1.2": {
    shape: "The canonical JSON5 shape is read as it is.",
    secrets: "Secrets in the config are refused and not shown.",
    unknown: "Unknown keys are refused with their path.",
  },
  "P-1.3": {
    environment: "The key comes from its environment variable only.",
    message: "Without it the error is exactly `Missing MOONSHOT_API_KEY`, and no other provider is contacted.",
    logged: "The key is in no output and no file.",
  },
  "P-1.4": {
    forms: "`provider:model` and {provider, model} mean the same.",
    resolve: "resolveConfiguredModelRef gives provider, model and the model's abilities.",
  },
  "P-1.5": {
    window: "Each model has its own window.",
    "over-budget": "OverBudgetError is raised before any network.",
    clamp: "The minimum clamp is for local providers only.",
  },
  "P-1.6": {
    strict: "strict fails the start, and only where the default model cannot be validated.",
    warn: "warn, the default, starts and says one line.",
    off: "off contacts nobody.",
    line: "There is one actionable line.",
  },
  "P-2.1": {
    order: "Every run's prompt has the layers in the fixed order.",
    manifest: "The manifest lists them by id, version and hash, on request, and the journal binds it.",
  },
  "P-2.4": {
    manifest: "The class of a channel alone chooses the policy prompt; its id stands in the manifest.",
    streaming: "Answers stream to cli_local only.",
    email: "On external_email nothing is sent before an operator approved its text.",
    final: "On external_message the final answer alone goes out.",
  },
  "P-3.4": {
    code: "An external channel gets one error code.",
    actionable: "The message says what can be done next.",
    "no-stack": "It holds no stack and no words of a provider.",
    "no-trace": "It holds no partial answer and no trace of tools.",
  },
  "P-5.2": {
    file: "A session's file is agents/{agentId}/sessions/{sessionKey}.jsonl under the home.",
    home: "The home is ~/.surety, or SURETY_HOME.",
    migrate: "surety migrate --from brings an old home along.",
  },
  "P-5.3": {
    overflow: "Turns are condensed before they would leave the prompt.",
    invariants: "The system prompts stay.",
    turns: "The last turns stay, word for word.",
    evidence: "The summary is a derived text that names the runs it was made from.",
    maxTurns: "maxTurns of an agent bounds the turns that are sent.",
    maxBytes: "maxBytes bounds each session file.",
  },
  "P-5.5": {
    external: "External sessions store no partial answers.",
    local: "Local ones store them only if that is enabled.",
  },
  "P-2.5": {
    stopped: "An answer that repeats a system prompt is stopped by the runtime, in the stream and in what is stored.",
    asked: "Asked, the assistant refuses and explains at a high level.",
  },
  "P-3.1": {
    unions: "A union where an enum serves is refused at registration.",
    format: "A property named `format` is refused at registration.",
  },
  "P-3.2": {
    lists: "What the lists by tool and by channel do not name is denied.",
    risk: "The risk class decides for what passed the lists.",
    run: "Over a whole run a tool that is not allowlisted is denied.",
  },
  "P-4.1": {
    request: "The record names request, time, provider and model, token estimates and latency.",
    manifest:
      "It has base prompt version and sha256, the agent prompt's hash, the channel policy and the message's sha256.",
    gate: "It has the gate's outcome: channel, risk, policy id and decision.",
  },
  "P-4.2": {
    keys: "No API key, token or credential is logged.",
    prompts: "No system prompt is logged.",
    bodies: "No message, tool argument, tool output or answer is logged.",
    attachments: "No attachment is logged.",
  },
  "P-4.4": {
    places: "Logs are in logs/gateway/ and logs/<provider>/ under the home.",
    size: "No file grows over its cap.",
    count: "No more files than configured are kept.",
  },
  "P-4.5": {
    secrets: "Known secrets and secret patterns are redacted.",
    contacts: "E-mail addresses and phone numbers are redacted when configured.",
  },
  "P-6": {
    "provider-key": "A missing key fails.",
    "provider-warn": "With `warn` the start goes on.",
    "provider-context": "Each model's context window is enforced.",
    "prompt-order": "The manifest proves the order of the prompt.",
    "prompt-extraction": "A user cannot extract the base prompt.",
    "tool-allowlist": "A tool that is not allowlisted is denied.",
    "tool-approval": "A side effect needs an approval.",
    "tool-honeypot": "The honeypot exception keeps to its templates and limits.",
    "log-prompts": "Logs hold no raw prompts.",
    "log-hashes": "Logs hold the hashes.",
    "log-rotation": "Logs keep to their size and number.",
    "session-key": "The format of session keys is stable.",
    "session-path": "Sessions are stored where the contract says.",
    "session-compaction": "Compaction comes with overflow and keeps its invariants.",
  },
  "P-7": {
    rules: "A changed schema or fixture needs a version, a changelog section with an approver, and a fixture.",
    published: "The published files are what the code says.",
    bundles: "Every published bundle passes `surety verify`, and its entries fold to the same bytes.",
    changelog: "The root changelog names the published version.",
  },
  // X: beyond the seeds
  "X-1": {
    required: "No run completes without a performed call that matches each required effect.",
    claimed: "An effect that was only claimed ends FAILED_PROTOCOL_NO_TOOLS.",
  },
  "X-2": {
    intent: "The intent is durable before the effect.",
    resume: "A killed process resumes every accepted run.",
    repeats: "No opaque effect is repeated by itself.",
  },
  "X-3": {
    offline: "A bundle is one canonical document that verifies with nothing else at hand, by its signed head.",
    named: "The first bad entry is named.",
  },
  "X-4": {
    replay: "A replay reaches the same outcome and head with no network.",
    policy: "`--policy` names the calls that another policy decides otherwise.",
    "policy-test": "`surety policy test` does so over all recorded runs.",
  },
  "X-7": {
    repeat: "The third identical call with the same result ends the run.",
    pair: "An alternating pair ends the run.",
    period: "A sequence of three or four calls made twice over ends the run.",
    volatile: "Results are compared without their tool's volatile fields.",
    errors: "Errors are compared by code.",
    shared: "Identical reads of one batch with no effect between share one execution.",
  },
  "X-9": {
    strict:
      "In strict required mode random weights make a whole, valid call that is performed; without the grammar none.",
    tools: "What random weights write for each tool we ship fits its schema.",
    turns: "One model is in memory at a time; requests take turns, and a cancelled one stops within a token.",
    files: "A file or a package that cannot be used is one clear line.",
  },
  "X-10": {
    receipt: "The receipt names model, tokens, cost, contract hash, outcome and head hash, and is signed.",
    record: "Every answer's record carries it.",
    cost: "A cost that is not known is null, not 0; delegated runs count.",
    estimate: "A cost that was not reported in full is an estimate, and says so.",
  },
  "X-11": {
    ends: "Every due slot ends as ran, skipped (why) or missed.",
    once: "It ends once: claimed in the transaction that accepts its run.",
    restarts: "Both hold across restarts, kills and jumps of the clock.",
    nodes: "A second process that settles the same slot is refused.",
  },
  "X-12": {
    plan: "An approval is bound to its plan's hash.",
    durable: "A question survives a restart.",
    once: "An approval is used once.",
    unreachable: "It is denied at once where no approver can be reached.",
    timeout: "Silence is a denial.",
  },
  "X-13": {
    durable: "A message from a channel is durable before it is acknowledged.",
    once: "It is one message by the channel's own id, however often it comes.",
    state: "It ends in a typed state: run, answered, ignored or unpaired; a run in its outcome.",
    retried: "What was not sent is tried again, later and later, and then has failed.",
    ambiguous: "What may have been sent is shown as ambiguous, and never sent again by itself.",
    crash: "A crash between run and delivery loses nothing and sends nothing twice.",
  },
  "X-15": {
    chat: "OpenAI's client holds conversations with images and tool-using runs, unchanged.",
    stream: "Streamed, the pieces are the answer, and the usage comes where it is asked for.",
    responses: "It gets responses, streamed and not, that continue from one another.",
    models: "It lists the agents and the configured models.",
    approvals: "A waiting approval keeps the stream alive.",
    errors: "What fails or is refused is an error in OpenAI's shape.",
  },
  "X-24": {
    chain: "Entries are chained from the home's id on.",
    checkpoints: "Checkpoints are signed over ledger, head and open runs.",
    missing: "A run that vanishes is named.",
    rollback: "A home that was rolled back whole shows against a checkpoint kept elsewhere.",
    config: "A change of the configuration has an entry.",
    access: "Tokens and browsers that sign in have entries.",
    pairing: "Accepting and denying a sender has an entry.",
    approvals: "Decisions about calls have entries.",
    secrets: "Secrets that are set have entries, and a value put back is named.",
    files: "Each random change of rows and files is named.",
  },
  "X-25": {
    home: "After a run or a session was forgotten, no byte of its content is in any file of the home.",
    derived: "Summaries, memory and later prompts that were made of it go with it; what others said stays.",
    chains: "Every chain still verifies, and shows `erased`.",
    "at-work": "What has not ended is not forgotten, and the refusal says so.",
    interrupted: "What was interrupted is finished when the home is opened again.",
    limits: "It says what it cannot reach.",
    memory: "A memory is forgotten the same way.",
  },
  "X-26": {
    backup: "A backup is taken while the gateway runs, and restored.",
    schema: "An older home is upgraded; a newer one is refused.",
    archive: "Ended runs are compressed when idle; reads give the same bytes and verify.",
    retention: "Ended runs over an age or a size are forgotten, with ledger entries, and every chain verifies.",
    quota: "A home over its quota, or on a disk that is nearly full, says so at the start and in its status.",
  },
};
