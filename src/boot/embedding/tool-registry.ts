/** The seed's ToolRegistry (T-4.1) over the toolbox and the assistant of an opened home. */
import { DIRECT_CALL_MODEL, directCallMessage } from "../../adapters/models/direct-call.ts";
import { defineTool, type Tool } from "../../adapters/tools/define-tool.ts";
import { grantedTools } from "../../assistant/runs/contract-terms.ts";
import type { RunRequest } from "../../assistant/runs/run-request.ts";
import { refsOf } from "../../kernel/journal/body.ts";
import { asSessionId, type RunId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import { readBodies, readWholeJournal } from "../../runtime/run/read-run.ts";
import { toolResultIn } from "../../runtime/tools/tool-result.ts";
import { type EmbeddedParts, partsOf } from "./embedded-parts.ts";
import { followRun } from "./follow-run.ts";
import type * as Api from "./surety-api.ts";

/** What a tool of unknown origin returns: foreign, and the owner's business. */
const CAUTIOUS: Labels = { integrity: "untrusted", confidentiality: "private" };
const CLOSED = "Surety was closed before the call ended. The run is saved; recover() resumes it.";

export class ToolRegistry implements Api.ToolRegistry {
  readonly #parts: EmbeddedParts;
  readonly #options: Api.RegistryOptions;

  constructor(surety: Api.Surety, options: Api.RegistryOptions = {}) {
    this.#parts = partsOf(surety);
    this.#options = options;
  }

  register(tool: Api.Tool): void {
    this.#parts.toolbox.register(toTool(tool));
  }

  getToolDescriptions(): Api.LLMToolDef[] {
    return this.#parts.toolbox.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  }

  isAllowed(name: string, { channel }: Pick<Api.Session, "channel">): boolean {
    const { toolbox, policy, channelClass: classOf } = this.#parts;
    const tool = toolbox.nameOf(name);
    const channelClass = classOf(channel);
    return tool !== null && grantedTools({ toolbox, policy: policy(), channelClass }).includes(tool);
  }

  async execute(name: string, args: Record<string, unknown>): Promise<Api.ToolResult> {
    const { toolbox, assistant } = this.#parts;
    const tool = toolbox.nameOf(name);
    if (tool === null) {
      const planned = await toolbox.plan(name, {});
      return planned.ok ? failure("tool.not_found", name) : failure(planned.error.code, planned.error.message);
    }
    const submitted = await assistant.submit(this.#requestFor(name, tool, args));
    if (!submitted.ok) return failure(submitted.code, submitted.message);
    const { runId, sessionId } = submitted;
    const question = await this.#end(runId);
    const result = this.#parts.closing.aborted ? failure("run.open", CLOSED) : await this.#read(runId, sessionId);
    const confirmation = question === null ? {} : { confirmation: question };
    return { ...result, metadata: { executionTime: 0, ...result.metadata, ...confirmation, runId, sessionId } };
  }

  #requestFor(name: string, tool: string, args: Record<string, unknown>): RunRequest {
    const { session, approvedTools = [] } = this.#options;
    return {
      agentId: "main",
      message: directCallMessage(name, args),
      sessionId: session === undefined ? null : asSessionId(session),
      model: DIRECT_CALL_MODEL.ref,
      thinkingMode: null,
      contract: { toolPolicy: "required", allowedTools: [tool], maxInferences: 2 },
      approvedTools: approvedTools.filter((approved) => approved === tool),
      source: "embedding",
      principal: "operator",
      idempotencyKey: null,
    };
  }

  /** Waits until the run has ended. Returns the plan of a question that no one answers: then the run stays open. */
  async #end(runId: RunId): Promise<string | null> {
    let question: string | null = null;
    const updates = followRun(this.#parts, runId, (shown) => {
      question = shown;
    });
    for await (const _ of updates) {
      // The journal has the result.
    }
    return question;
  }

  async #read(runId: RunId, sessionId: SessionId): Promise<Api.ToolResult> {
    const { store } = this.#parts;
    const { entries } = await readWholeJournal(store, runId);
    const bodies = await readBodies(store, sessionId, [...new Set(entries.flatMap(refsOf))], runId);
    const result = toolResultIn(entries, (ref) => bodies.get(ref)?.text ?? null);
    if (result !== null) return result;
    const last = entries.at(-1);
    if (last?.kind !== "TERMINATE") return failure("run.open", "The call has not ended yet: see surety approvals.");
    return failure(last.decided.reason ?? last.decided.outcome, "The run ended before its call.");
  }
}

function failure(code: string, message: string): Api.ToolResult {
  return { success: false, output: `${code}: ${message}`, metadata: { executionTime: 0 } };
}

function toTool({ labels = CAUTIOUS, ...tool }: Api.Tool): Tool {
  const {
    name,
    description,
    risk,
    timeoutMs,
    volatileFields = [],
    idempotency = risk === "read_only" ? "read_only" : "opaque",
  } = tool;
  return defineTool({
    ...{ name, description, risk, idempotency, volatileFields },
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    parameters: tool.parameters as Tool["parameters"],
    reachesHosts: tool.hosts !== undefined,
    plan: (args) => ({
      shown: tool.describe?.(args) ?? `${name} ${JSON.stringify(args)}`,
      labels,
      egress: tool.hosts?.(args) ?? [],
    }),
    run: async ({ args }, { runId, signal, idempotencyKey }) => {
      const output = await tool.run(args, { runId, signal, idempotencyKey });
      // As JSON has it: what a tool returns may hold a Date or undefined, which a journal cannot.
      return JSON.parse(JSON.stringify(output) ?? "null");
    },
    summarize: () => `${name} done`,
  });
}
