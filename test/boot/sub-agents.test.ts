/**
 * Eight sub-agents at once, over real processes and a model server on loopback: one never keeps its form, one spends more than it
 * was given, one is cancelled, and the gateway is killed while they work.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import { main } from "../../src/boot/main.ts";
import { type GatewayProcess, startGateway } from "../faults/gateway-process.ts";
import { answer, type ReceivedRequest, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = join(import.meta.dirname, "../../src/boot/surety.ts");
const PATIENCE = { timeout: 30_000, interval: 50 };
const HISTORY = "the-parent-knows-0451";
const HOUSE_RULE = "no shoes in the house, 7719";
const CHILDREN = 8;
const [MALFORMED, SPENDER, CANCELLED] = [5, 6, 7];
const GOOD = [0, 1, 2, 3, 4];
const PRICES = { costPer1kInput: 0.001, costPer1kOutput: 0.002 };
const USAGE = { prompt_tokens: 100, completion_tokens: 10 };
/** More than a share of the parent's tokens, and less than twice the window. */
const DEAR = { prompt_tokens: 60_000, completion_tokens: 10 };

const taskOf = (index: number): string => `task number ${index}`;
const resultOf = (index: number) => ({ content: `result ${index}`, explanation: "" });

interface Message {
  readonly role: string;
  readonly content: string;
  readonly tool_call_id?: string;
}

const messagesOf = ({ body }: ReceivedRequest) => body.messages as unknown as readonly Message[];
const userText = (request: ReceivedRequest): string =>
  messagesOf(request)
    .filter(({ role }) => role === "user")
    .map(({ content }) => content)
    .join("\n");
const indexOf = (request: ReceivedRequest): number | null => {
  const found = /task number (\d)/.exec(userText(request))?.[1];
  return found === undefined || userText(request).includes(HISTORY) ? null : Number(found);
};

verifies(
  [
    "T-3b/parallel",
    "T-3b/results",
    "T-3b/failures",
    "T-3b/form",
    "T-3b/context",
    "T-3b/crash",
    "T-3b/carved",
    "T-3b/contracts",
    "X-6",
    "X-10",
    "T-3a",
  ],
  "eight sub-agents at once: one malformed, one over budget, one cancelled, the gateway killed; each result is there once",
  async () => {
    const released = Promise.withResolvers<void>();
    let isKilled = false;
    const delegations = Array.from({ length: CHILDREN }, (_, index) => ({
      id: `call_${index}`,
      name: "agent.delegate",
      arguments: { agent: "WriterAgent", description: taskOf(index), context: `about ${index}` },
    }));
    const reply = (request: ReceivedRequest): Reply => {
      const index = indexOf(request);
      if (index === null) {
        const isBack = messagesOf(request).some(({ role }) => role === "tool");
        return isBack ? answer({ text: "All are back.", usage: USAGE }) : answer({ calls: delegations, usage: USAGE });
      }
      const done = { text: JSON.stringify(resultOf(index)), usage: USAGE };
      if (index < 2) return answer(done);
      // The others are at work when the gateway is killed; afterwards one stays there until it is cancelled.
      if (!isKilled || index === CANCELLED) return { kind: "hang", withHead: true };
      if (index === MALFORMED) return answer({ text: "Here it is: a text.", usage: USAGE, after: released.promise });
      if (index === SPENDER) return answer({ ...done, usage: DEAR, after: released.promise });
      return answer({ ...done, after: released.promise });
    };
    const server = await startOpenAiServer(reply);
    onTestFinished(() => server.close());
    const home = join(await temporaryDirectory(), "home");
    await mkdir(join(home, "workspace"), { recursive: true, mode: 0o700 });
    await writeFile(join(home, "workspace/AGENTS.md"), `${HOUSE_RULE}\n`);
    const models = {
      main: { contextWindow: 32_768, maxOutputTokens: 1024, tier: "mid", ...PRICES },
      small: { contextWindow: 32_768, maxOutputTokens: 1024, tier: "cheap", ...PRICES },
    };
    const config = {
      models: { default: "loop:main", providers: { loop: { baseUrl: server.baseUrl, local: true, models } } },
    };
    await writeFile(join(home, "surety.json5"), JSON.stringify(config));
    const start = async (): Promise<GatewayProcess> => {
      const gateway = await startGateway([process.execPath, ENTRY, "--home", home, "start", "--port", "0"]);
      onTestFinished(async () => {
        if (!gateway.isGone) await gateway.kill();
      });
      return gateway;
    };
    const get = async (gateway: GatewayProcess, path: string) =>
      JSON.parse(JSON.stringify((await gateway.ask("GET", path))?.body));

    const first = await start();
    const message = `${HISTORY}: write eight things`;
    const posted = await first.ask("POST", "/v1/runs", { agent_id: "main", message, contract: { max_inferences: 40 } });
    const { id } = (posted as { readonly body: { readonly id: string } }).body;
    // All eight are at the model server at once: two have been answered, six wait.
    await vi.waitFor(() => expect(new Set(server.requests.map(indexOf)).size).toBe(CHILDREN + 1), PATIENCE);
    await vi.waitFor(async () => {
      const { runs } = await get(first, "/v1/runs");
      expect(runs.filter((run: { readonly outcome: string | null }) => run.outcome !== null)).toHaveLength(2);
    }, PATIENCE);
    isKilled = true;
    expect(await first.kill()).toEqual({ code: null, signal: "SIGKILL" });
    const before = server.requests.length;

    const second = await start();
    await vi.waitFor(() => {
      const again = new Set(server.requests.slice(before).map(indexOf));
      expect([...again].sort()).toEqual([2, 3, 4, MALFORMED, SPENDER, CANCELLED]);
    }, PATIENCE);
    const children: readonly { readonly id: string; readonly prompt: string }[] = (
      await get(second, "/v1/runs")
    ).runs.filter((run: { readonly agent_id: string }) => run.agent_id === "writer-agent");
    expect(children).toHaveLength(CHILDREN);
    const cancelled = children.find(({ prompt }) => prompt.includes(taskOf(CANCELLED ?? 0)));
    expect((await second.ask("POST", `/v1/runs/${cancelled?.id}/cancel`))?.status).toBe(202);
    released.resolve();
    const record = await vi.waitFor(async () => {
      const run = await get(second, `/v1/runs/${id}`);
      expect(run.outcome).toBe("COMPLETED_WITH_TOOLS");
      return run;
    }, PATIENCE);

    // What the parent's model was shown: each result once, in the order of the calls.
    const shown = messagesOf(server.requests.at(-1) as ReceivedRequest).filter(({ role }) => role === "tool");
    expect(shown.map(({ tool_call_id }) => tool_call_id)).toEqual(delegations.map(({ id }) => id));
    const results = shown.map(({ content }) => JSON.parse(content));
    for (const index of GOOD) expect(results[index]).toMatchObject({ ok: true, output: resultOf(index), error: null });
    expect(results.slice(GOOD.length).map(({ ok, output, error }) => [ok, output, error.split(". ")[0]])).toEqual([
      [false, null, "invalid.request: The delegated run ended FAILED_PROTOCOL_MALFORMED (protocol.malformed)"],
      [false, null, "invalid.request: The delegated run ended FAILED_BUDGET_EXHAUSTED (budget.tokens)"],
      [false, null, "invalid.request: The delegated run ended INTERRUPTED (run.cancelled)"],
    ]);

    const asMalformed = server.requests.slice(before).filter((request) => indexOf(request) === MALFORMED);
    expect(asMalformed.map((request) => messagesOf(request).at(-1)?.role)).toEqual(["user", "system"]);

    // Tokens and money add up: the parent's own two inferences, and what each child spent.
    const receipts = await Promise.all(
      children.map(async (child) => (await get(second, `/v1/runs/${child.id}`)).receipt),
    );
    const own = 2 * (USAGE.prompt_tokens + USAGE.completion_tokens);
    const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
    expect(record.receipt.tokens).toBe(own + sum(receipts.map(({ tokens }) => tokens)));
    const ownCost = 2 * ((USAGE.prompt_tokens * 0.001 + USAGE.completion_tokens * 0.002) / 1000);
    expect(record.receipt.cost_usd).toBeCloseTo(ownCost + sum(receipts.map(({ cost_usd }) => cost_usd)), 6);
    expect(new Set(receipts.map(({ model }) => model))).toEqual(new Set(["loop:small"]));

    // Each has a contract of its own under its parent's, carved out of it.
    const parent = (await get(second, `/v1/runs/${id}/bundle`)).contract;
    for (const child of children) {
      const { contract } = await get(second, `/v1/runs/${child.id}/bundle`);
      expect(contract).toMatchObject({ version: "2.3", parent_contract_hash: parent.contract_hash, depth: 1 });
      expect(contract).toMatchObject({ allowed_tools: [], max_inferences: 2, output_schema: { type: "object" } });
      expect(contract.max_tokens_consumed * CHILDREN).toBeLessThanOrEqual(parent.max_tokens_consumed);
    }
    expect(parent.output_schema).toBeNull();

    expect(server.requests[0]?.text).toContain(HOUSE_RULE);

    // No child saw more than its task and its context.
    const asked = server.requests.filter((request) => indexOf(request) !== null);
    expect(asked.length).toBeGreaterThanOrEqual(CHILDREN + 6);
    for (const request of asked) {
      const index = indexOf(request) ?? 0;
      expect(request.text).not.toContain(HISTORY);
      expect(request.text).not.toContain(HOUSE_RULE);
      const said = messagesOf(request).filter(({ role }) => role !== "system");
      expect(said.map(({ role }) => role)).toEqual(["user"]);
      expect(said[0]?.content.startsWith(`${taskOf(index)}\n\nContext:\nabout ${index}\n\nAnswer with one JSON`)).toBe(
        true,
      );
      expect(request.body.tools ?? []).toEqual([]);
      expect(request.body.model).toBe("small");
    }
    expect((await second.stop()).code).toBe(0);
  },
  60_000,
);

verifies(
  ["T-3b/authority", "T-3b/labels"],
  "ResearchAgent reads a page only where its parent may, and what it read marks its parent's labels",
  async () => {
    let visits = 0;
    const server = createServer((_, response) => {
      visits += 1;
      response.writeHead(200, { "content-type": "text/plain" }).end("the page tells of otters");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
    const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const home = join(await temporaryDirectory(), "home");
    await mkdir(home);
    await writeFile(join(home, "surety.json5"), JSON.stringify({ tools: { http: { allowAddresses: [place] } } }));
    const surety = async (...words: readonly string[]) => {
      const streams = capturedStreams();
      await main(["--home", home, ...words], streams, () => undefined);
      return streams.written().stdout;
    };
    const ask = async (...words: readonly string[]) =>
      JSON.parse(await surety("run", "--json", ...words, `ask the research agent to fetch http://${place}/page`));
    const first = await ask();
    expect(first.output).toMatch(/ResearchAgent answered:\n\n- summary: http\.get was denied/);
    expect(visits).toBe(0);
    const labelsOf = (run: typeof first) => run.trace.tool_execution_results[0].labels;
    expect(labelsOf(first)).toMatchObject({ integrity: "user" });
    await surety("caps", "grant", "net", "--session", first.session_id);
    const second = await ask("--session", first.session_id);
    expect(second.output).toContain("the page tells of otters");
    expect([visits, labelsOf(second).integrity]).toEqual([1, "untrusted"]);
  },
);
