/** Metrics for Prometheus, and traces and metrics for a collector, of a real gateway; and nothing of it where it is off. */
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, vi } from "vitest";
import { startGateway, TOKEN } from "../faults/gateway-process.ts";
import { verifies } from "../requirements.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));
const WAIT = { timeout: 60_000, interval: 50 };
const LIMIT_MS = 120_000;

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
}
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
}

/** As OTLP over HTTP with JSON has it. */
async function startCollector() {
  const received: { readonly path: string; readonly body: string }[] = [];
  const server = createServer(async (request, response) => {
    const isOtlp = request.method === "POST" && request.headers["content-type"] === "application/json";
    const body = await textOf(request);
    if (isOtlp) received.push({ path: request.url ?? "", body });
    response.writeHead(isOtlp ? 200 : 415, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const at = (path: string) => received.filter((each) => each.path === path).map(({ body }) => JSON.parse(body));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    texts: () => received.map(({ body }) => body).join("\n"),
    spans: (): readonly Span[] =>
      at("/v1/traces").flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }: { scopeSpans: { spans: Span[] }[] }) =>
          scopeSpans.flatMap(({ spans }) => spans),
        ),
      ),
    metrics: (): readonly string[] =>
      at("/v1/metrics").flatMap(({ resourceMetrics }) =>
        resourceMetrics.flatMap(({ scopeMetrics }: { scopeMetrics: { metrics: { name: string }[] }[] }) =>
          scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name }) => name)),
        ),
      ),
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

async function startWith(telemetry: object) {
  const home = join(await temporaryDirectory(), "home");
  await mkdir(home, { mode: 0o700 });
  await writeFile(join(home, "surety.json5"), JSON.stringify({ telemetry }));
  const gateway = await startGateway([process.execPath, ENTRY, "--home", home, "start", "--port", "0"]);
  onTestFinished(async () => {
    if (!gateway.isGone) await gateway.kill();
  });
  const metrics = (token = TOKEN) =>
    fetch(`http://127.0.0.1:${gateway.port}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  const runs = async (message: string): Promise<void> => {
    const { body } = (await gateway.ask("POST", "/v1/runs", { agent_id: "main", message })) ?? {};
    const { id } = body as { readonly id: string };
    await vi.waitFor(async () => {
      const record = (await gateway.ask("GET", `/v1/runs/${id}`))?.body as { readonly outcome: string | null };
      expect(record.outcome).toMatch(/^COMPLETED_/);
    }, WAIT);
  };
  return { gateway, metrics, runs };
}

verifies(
  "X-18",
  "Prometheus reads what runs did at /metrics with a token; a collector gets spans and metrics in the words of the GenAI conventions, and no content",
  async () => {
    const collector = await startCollector();
    const { gateway, metrics, runs } = await startWith({
      prometheus: true,
      otlp: { url: collector.url, intervalS: 1 },
    });
    await runs("list files");
    await runs("some canary words");
    expect((await metrics("wrong")).status).toBe(401);
    const text = await vi.waitFor(async () => {
      const scraped = await (await metrics()).text();
      expect(scraped).toContain("COMPLETED_CHAT_ONLY");
      return scraped;
    }, WAIT);
    expect(text).toMatch(
      /^surety_runs_total\{[^}]*gen_ai_agent_name="main"[^}]*surety_run_outcome="COMPLETED_WITH_TOOLS"[^}]*\} 1$/m,
    );
    expect(text).toMatch(/^surety_tool_calls_total\{[^}]*gen_ai_tool_name="fs.list_dir"[^}]*\} 1$/m);
    expect(text).toMatch(
      /^gen_ai_client_token_usage_token__?count\{[^}]*gen_ai_token_type="input"[^}]*\} 3$|^gen_ai_client_token_usage_count\{[^}]*gen_ai_token_type="input"[^}]*\} 3$/m,
    );
    await gateway.stop();
    const spans = collector.spans();
    expect(spans.map(({ name }) => name).toSorted()).toEqual([
      ...["chat demo", "chat demo", "chat demo", "execute_tool fs.list_dir", "invoke_agent main", "invoke_agent main"],
    ]);
    const run = spans.find(({ name }) => name === "invoke_agent main");
    const chat = spans.find(({ name }) => name === "chat demo");
    const within = spans.filter((each) => each !== run && each.traceId === run?.traceId);
    expect(within).toHaveLength(3);
    expect(within.every(({ parentSpanId }) => parentSpanId === run?.spanId)).toBe(true);
    expect(
      spans.every(({ startTimeUnixNano, endTimeUnixNano }) => BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano)),
    ).toBe(true);
    const attributes = new Map(
      chat?.attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
    );
    expect(Object.fromEntries(attributes)).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "builtin",
      "gen_ai.request.model": "demo",
      "gen_ai.usage.input_tokens": expect.any(Number),
      "gen_ai.usage.output_tokens": expect.any(Number),
    });
    expect(chat?.kind).toBe(3);
    expect(new Set(collector.metrics())).toEqual(
      new Set(["surety.runs", "surety.tool.calls", "gen_ai.client.operation.duration", "gen_ai.client.token.usage"]),
    );
    expect(collector.texts()).not.toContain("canary");
  },
  LIMIT_MS,
);

verifies(
  "X-18",
  "is off unless configured: there is no /metrics; a collector that is away costs nothing but what it misses",
  async () => {
    const off = await startWith({});
    expect((await off.metrics()).status).toBe(404);
    await off.gateway.stop();
    const away = await startWith({ otlp: { url: "http://127.0.0.1:9", intervalS: 1 } });
    await away.runs("list files");
    expect((await away.metrics()).status).toBe(404);
    expect(await away.gateway.stop()).toMatchObject({ signal: null });
    expect(away.gateway.stderr).toEqual([]);
  },
  LIMIT_MS,
);
