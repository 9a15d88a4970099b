/** `surety runs ls|show|watch|cancel|export`. */
import type { OperationClient } from "../../assistant/operations.ts";
import { describeManifest, readManifest } from "../../assistant/runs/prompt-manifest.ts";
import { ERASED } from "../../kernel/journal/views/body-content.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import { canonicalJson } from "../../kernel/vocabulary/canonical-json.ts";
import { formatCost } from "../../kernel/vocabulary/format-usd.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { noApprover } from "../../runtime/ports/approver.ts";
import { RUN_STATUSES, type RunStatus, type StoredRun } from "../../runtime/ports/store.ts";
import { firstWords, messageOfRun } from "../../runtime/run/message-of-run.ts";
import { findContract } from "../../runtime/run/read-run.ts";
import { atTerminal, exitCodeOf, runFace } from "../at-terminal.ts";
import { BootError, usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { connectAssistant, valueIn } from "../connect-assistant.ts";
import { delegatedRow, delegatedRuns } from "../delegated-runs.ts";
import { assertNewFile, writeNewFile } from "../durable-file.ts";
import { findRun, type ReadableHome, withHome } from "../read-home.ts";
import { readableOutput } from "../readable-output.ts";

const MAX_LIMIT = 500;
const MAX_OFFSET = 1_000_000_000;
/** A cancelled run waits for its effect in flight, for seconds. */
const CANCEL_WAIT_MS = 10_000;

const ls: Action = {
  summary: "list runs, newest first",
  options: {
    status: { type: "string", value: "S", summary: `only ${RUN_STATUSES.join(", ")}` },
    limit: { type: "string", value: "N", summary: "at most so many (default 50)" },
    offset: { type: "string", value: "N", summary: "leave out so many" },
  },
  examples: ["surety runs ls", "surety runs ls --status failed --limit 5"],
  run: (context) =>
    withHome(context, async ({ store, views }) => {
      const { options, output } = context;
      const status = statusOf(options.text("status"));
      const limit = options.integer("limit", { least: 1, most: MAX_LIMIT, example: 50 }) ?? 50;
      const offset = options.integer("offset", { least: 0, most: MAX_OFFSET, example: 50 }) ?? 0;
      const { runs, total } = await store.listRuns({ limit, offset, ...(status === undefined ? {} : { status }) });
      const prompts = await Promise.all(runs.map((run) => messageOfRun(store, run)));
      const records = (await views.rows(runs)).map((record, at) => ({
        ...record,
        prompt: firstWords(prompts[at] ?? erasedText(runs[at])),
      }));
      output.result({ runs: records, total, limit, offset }, () => {
        output.table(
          ["RUN", "CREATED", "STATUS", "OUTCOME", "CALLS", "PROMPT"],
          records.map((record, index) => [
            record.id,
            runs[index]?.createdAt ?? "",
            record.status,
            [record.outcome ?? "", record.reason ?? "", record.damage === undefined ? "" : "(damaged)"]
              .filter((text) => text !== "")
              .join(" "),
            String(record.tool_calls),
            record.prompt,
          ]),
        );
        if (total > offset + runs.length) output.line(`${total} in all; see --offset`);
      });
    }),
};

const show: Action = {
  summary: "show one run: what it did and how it ended",
  arguments: ["RUN"],
  options: { manifest: { type: "boolean", summary: "what its model was sent, by id, hash and token count" } },
  examples: ["surety runs show run_0123", "surety runs show run_0123 --manifest"],
  run: (context) =>
    withHome(context, async (home) => {
      const [id = ""] = context.arguments;
      const { output } = context;
      const run = await findRun(home, id);
      if (context.options.flag("manifest")) return await printManifest(context, home, run);
      const record = await home.views.record(run);
      const prompt = firstWords((await messageOfRun(home.store, run)) ?? erasedText(run));
      const chosenBecause = findContract(run)?.routing?.reason ?? null;
      const delegated = await delegatedRuns(home, run);
      output.result({ ...record, prompt, ...(delegated.length === 0 ? {} : { delegated }) }, () => {
        printRecord(context, record, prompt, chosenBecause);
        if (delegated.length > 0) {
          output.table(["SUB-AGENT", "OUTCOME", "TOKENS", "COST", "RUN", "TASK"], delegated.map(delegatedRow));
        }
      });
    }),
};

function erasedText(run: StoredRun | undefined): string {
  return run?.erasedAt === undefined ? "" : ERASED;
}

async function printManifest({ output }: CommandContext, { store }: ReadableHome, run: StoredRun): Promise<void> {
  const read = await readManifest(store, run);
  if (!read.ok) throw new BootError(read.code, read.message, `See surety runs show ${run.runId}.`);
  output.result(read.manifest, () => {
    const { rows, lines } = describeManifest(read.manifest);
    output.table(["LAYER", "TOKENS", "WHAT", "SHA-256"], rows);
    for (const line of lines) output.line(line);
  });
}

const watch: Action = {
  summary: "follow a run as it happens, and answer its questions, until it ends",
  arguments: ["RUN"],
  options: { verbose: { type: "boolean", summary: "show what tools print" } },
  examples: ["surety runs watch run_0123"],
  async run(context) {
    const [id = ""] = context.arguments;
    const { isJson, output } = context;
    const { runId } = await withHome(context, (home) => findRun(home, id));
    return await atTerminal(
      context,
      runFace(context, context.options.flag("verbose")),
      { drives: false },
      async ({ operations, isRemote, show }) => {
        const { outcome } = valueIn(await operations.call("runs.get", { id: runId }), () => "See surety runs ls.");
        if (outcome === null && !isRemote) {
          const hint = "Start it: surety start. The run continues then.";
          throw new BootError("gateway.missing", `${runId} has not ended, and no gateway runs on this home`, hint);
        }
        const record = await show(runId);
        if (isJson) output.json(record);
        return exitCodeOf(record);
      },
    );
  },
};

const cancel: Action = {
  summary: "ask a run to stop",
  arguments: ["RUN"],
  examples: ["surety runs cancel run_0123"],
  async run(context) {
    const [named = ""] = context.arguments;
    const { output } = context;
    const { runId: id } = await withHome(context, (home) => findRun(home, named));
    const { operations, isRemote, close } = await connectAssistant(context, noApprover, { drives: true });
    try {
      const before = await operations.call("runs.get", { id });
      if (before.ok && before.value.outcome !== null) throw hasEnded(before.value);
      const cancelled = valueIn(await operations.call("runs.cancel", { id }), () => "See surety runs ls.");
      const status = isRemote ? cancelled.status : await statusAtEnd(operations, id);
      output.result({ id, status }, () => output.line(`${id} ${status}${isRemote ? ", asked to stop" : ""}`));
    } finally {
      await close();
    }
  },
};

/** Without a gateway this command has to drive the run to its end. */
async function statusAtEnd(operations: OperationClient, runId: RunId): Promise<RunStatus> {
  const signal = AbortSignal.timeout(CANCEL_WAIT_MS);
  const subscription = await operations.subscribe("runs.events", { id: runId }, null, signal);
  for await (const _ of subscription.ok ? subscription.updates : []);
  return valueIn(await operations.call("runs.get", { id: runId }), () => "See surety runs ls.").status;
}

function hasEnded({ id, status }: RunRecord): BootError {
  return new BootError("conflict", `${id} has ended already: ${status}`, `See surety runs show ${id}.`);
}

const exportRun: Action = {
  summary: "write a signed bundle that can be verified anywhere",
  arguments: ["RUN"],
  options: {
    out: { type: "string", value: "FILE", summary: "write it here instead of to stdout" },
    receipt: { type: "boolean", summary: "only what it cost and how it ended, signed" },
  },
  examples: [
    "surety runs export run_0123 --out run.json",
    "surety runs export run_0123 --receipt --out receipt.json",
    "surety verify run.json",
  ],
  run: (context) =>
    withHome(context, async (home) => {
      const [id = ""] = context.arguments;
      const { options, output } = context;
      const named = options.text("out");
      const file = named === undefined ? undefined : await assertNewFile(named, "export");
      const run = await findRun(home, id);
      const text = options.flag("receipt") ? await receiptText(home, run) : await bundleText(home, run);
      if (file === undefined) {
        output.jsonText(text);
      } else {
        await writeNewFile(file, `${text}\n`, "export");
        output.result({ file }, () => output.line(`wrote ${file}`));
      }
    }),
};

export const command: Command = { actions: { ls, show, watch, cancel, export: exportRun } };

const NOT_ENDED = "A run can be exported once it has ended.";

async function bundleText({ views }: ReadableHome, run: StoredRun): Promise<string> {
  const bundle = await views.bundle(run);
  if (bundle.ok) return bundle.text;
  throw new BootError(
    bundle.code,
    bundle.message,
    run.outcome === null ? NOT_ENDED : `What is stored of it was changed: see surety verify ${run.runId}.`,
  );
}

async function receiptText({ views }: ReadableHome, run: StoredRun): Promise<string> {
  const { receipt } = await views.record(run);
  if (receipt !== undefined) return canonicalJson(receipt);
  throw new BootError("conflict", "the run is not sealed", NOT_ENDED);
}

function statusOf(text: string | undefined): RunStatus | undefined {
  if (text === undefined || RUN_STATUSES.some((status) => status === text)) return text as RunStatus | undefined;
  throw usageError(`--status must be one of ${RUN_STATUSES.join(", ")}`, "Leave it out to see all runs.");
}

function spentIn({ receipt }: RunRecord): readonly (readonly [string, string])[] {
  if (receipt === undefined) return [];
  const { model_fingerprint: name, tokens, public_key: key } = receipt;
  return [
    ["answered", name === "" ? "no answer named its model" : `by ${name}`],
    ["spent", `${tokens} tokens, ${formatCost(receipt)}`],
    ["receipt", key === null ? "not signed: the key is missing" : `signed by ${key}`],
  ];
}

function printRecord(
  { output }: CommandContext,
  record: RunRecord,
  prompt: string,
  chosenBecause: string | null,
): void {
  const rows: readonly (readonly [string, string])[] = [
    ["run", record.id],
    ["prompt", prompt],
    ["status", record.status],
    ...(record.erased_at === undefined ? [] : [["erased", record.erased_at] as const]),
    ...(record.damage === undefined ? [] : [["damaged", `${record.damage}: see surety verify ${record.id}`] as const]),
    ["outcome", [record.outcome ?? "none yet", record.reason ?? ""].join(" ").trim()],
    ...(record.explanation?.split("\n") ?? []).map((line) => ["", line] as const),
    ["agent", record.agent_id],
    ["session", record.session_id],
    ["model", `${record.provider}:${record.model}`],
    ...(chosenBecause === null ? [] : [["", chosenBecause] as const]),
    ["active", `${record.duration_ms} ms`],
    ...spentIn(record),
    ["contract", record.contract_hash],
    ["head", record.head_hash],
  ];
  for (const [name, value] of rows) output.field(name, value);
  for (const { tool, summary, error, output: text } of record.trace.tool_execution_results) {
    output.field("call", `${tool}: ${error === "" ? summary : error}`);
    if (text !== "") output.barred(readableOutput(text), "read");
  }
  if (record.output !== "") output.text(`\n${record.output}`);
}
