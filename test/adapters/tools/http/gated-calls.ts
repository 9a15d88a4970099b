/**
 * The web tools behind the gate they stand behind in a run: planned, decided about by the kernel, then performed.
 *
 * Names mean what the test says; loopback servers are reached because the test lists them as the operator would.
 */
import { createHook } from "node:async_hooks";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { createToolbox } from "../../../../src/adapters/tools/create-toolbox.ts";
import { type HttpToolsOptions, httpTools } from "../../../../src/adapters/tools/http/http-tools.ts";
import { systemClock } from "../../../../src/boot/system-clock.ts";
import { DEFAULT_POLICY } from "../../../../src/kernel/contract/default-terms.ts";
import { decideCall } from "../../../../src/kernel/policy/decide-call.ts";
import { CLEAN_LABELS, USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { parseToolResponse, type ToolError } from "../../../../src/kernel/vocabulary/tool-envelope.ts";
import type { Arguments } from "../../../../src/runtime/ports/toolbox.ts";

type Answer =
  | { readonly ok: true; readonly output: unknown }
  | { readonly ok: false; readonly error: Partial<ToolError> };

interface Circumstances {
  readonly capabilities?: readonly string[];
  readonly allowDomains?: readonly string[] | null;
  readonly signal?: AbortSignal;
}

interface WebOptions extends Partial<Omit<HttpToolsOptions, "resolve">> {
  /** Addresses by name. Every other name is unknown. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
}

export async function openWeb({ names = {}, ...options }: WebOptions = {}) {
  const home = await mkdtemp(join(tmpdir(), "surety-http-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const clock = options.clock ?? systemClock;
  const cacheFile = options.cacheFile ?? join(home, "cache.db");
  const lookedUp: string[] = [];
  const defects: unknown[] = [];
  const tools = httpTools({
    ...{ clock, cacheFile, allowAddresses: [], ttlS: 3600, searchUrl: null },
    ...options,
    resolve: (host) => {
      lookedUp.push(host);
      const found = names[host];
      return found === undefined ? Promise.reject(unknownHost()) : Promise.resolve(found);
    },
  });
  const toolbox = createToolbox(tools, { clock, onDefect: (error) => defects.push(error) });

  async function call(name: string, args: Arguments, circumstances: Circumstances = {}): Promise<Answer> {
    const { capabilities = ["net"], allowDomains = null, signal = new AbortController().signal } = circumstances;
    const planned = await toolbox.plan(name, args);
    expect(defects).toEqual([]);
    if (!planned.ok) return { ok: false, error: planned.error };
    const { tool, risk, egress, asksAlways, timeoutMs } = planned;
    const { decision, policyId } = decideCall({
      ...{ tool, risk, egress, capabilities, labels: CLEAN_LABELS, honeypot: false, channelClass: "cli_local" },
      ...{ asksAlways, approvedTools: [], allowedTools: [tool] },
      policy: { ...DEFAULT_POLICY, allow: ["*"], allowDomains: allowDomains?.slice() ?? null },
    });
    if (decision !== "allow") return { ok: false, error: { code: "policy.denied", message: policyId } };
    const context = { requestId: "req_1", runId: "run_1", agentId: "main", timeoutMs, idempotencyKey: null };
    const envelope = await toolbox.run(planned, {
      ...context,
      isRepeat: false,
      mayAct: true,
      seen: USER_LABELS,
      signal,
      onOutput: null,
    });
    expect(defects).toEqual([]);
    const parsed = parseToolResponse(envelope);
    if (!parsed.ok) throw new Error(parsed.problem);
    return parsed.response.ok
      ? { ok: true, output: parsed.response.output }
      : { ok: false, error: parsed.response.error };
  }

  return {
    toolbox,
    call,
    lookedUp,
    cacheFile,
    get: (url: string, more?: Circumstances) => call("http.get", { url }, more),
  };
}

function unknownHost(): Error {
  return Object.assign(new Error("unknown"), { code: "ENOTFOUND" });
}

export async function serve(handle: RequestListener, address = "127.0.0.1", port = 0) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handle(request, response);
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, address, resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const place = `${address}:${(server.address() as AddressInfo).port}`;
  return { server, requests, place, port: (server.address() as AddressInfo).port, url: `http://${place}` };
}

/** Answers every request with this. */
export function answering(body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): RequestListener {
  return (_, response) => response.writeHead(200, { "content-type": "text/plain", ...headers }).end(body);
}

export function redirecting(location: string, status = 302): RequestListener {
  return (_, response) => response.writeHead(status, { location }).end();
}

/** How many connections this thread has begun to make since; each is a SYN. */
export function countConnects(): () => number {
  let count = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "TCPCONNECTWRAP") count += 1;
    },
  });
  hook.enable();
  onTestFinished(() => {
    hook.disable();
  });
  return () => count;
}
