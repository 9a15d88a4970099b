/**
 * Runs that reach for the web: the trial's tools and the real `http.get`, against servers on loopback that go by names.
 * What the model says is written under what it was asked.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";
import { createToolbox } from "../../../src/adapters/tools/create-toolbox.ts";
import { httpTools } from "../../../src/adapters/tools/http/http-tools.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { DEFAULT_POLICY } from "../../../src/kernel/contract/default-terms.ts";
import type { ToolPolicy } from "../../../src/kernel/policy/tool-policy.ts";
import type { RunId, SessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { CapabilityDecision } from "../../../src/runtime/capabilities/capabilities.ts";
import type { CapabilitiesAnswer } from "../../../src/runtime/capabilities/stored-capabilities.ts";
import type { ModelReply } from "../../../src/runtime/ports/model-backend.ts";
import type { Store } from "../../../src/runtime/ports/store.ts";
import type { Toolbox } from "../../../src/runtime/ports/toolbox.ts";
import { openTrial, type TrialOptions, type Wanted } from "./open-trial.ts";
import { type OutsideWorld, outsideWorld } from "./outside-world.ts";
import { askedFor, calls, type ModelScript, says, scriptedModel } from "./scripted-model.ts";

/** What the model does, turn by turn, when it is asked something; after that it closes. */
export type Lines = Readonly<Record<string, readonly (ModelReply | ModelScript)[]>>;

export interface WebOptions extends Partial<Pick<TrialOptions, "clock" | "policy" | "livePolicy" | "isReachable">> {
  readonly allowDomains?: readonly string[];
  /** What the model does when it is asked anything else; absent: it closes. */
  readonly otherwise?: ModelScript;
}

const NAMES = ["a.example", "b.example"] as const;

export async function openWebTrial(store: Store, lines: Lines, options: WebOptions = {}) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers.host?.split(":")[0] ?? "");
    response.writeHead(200, { "content-type": "text/plain" }).end("the page");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  const clock = options.clock ?? systemClock;
  const world = withWeb(outsideWorld(), port);
  const policy: ToolPolicy = {
    ...DEFAULT_POLICY,
    ...options.policy,
    allowDomains: options.allowDomains?.slice() ?? null,
  };
  const trial = openTrial({
    model: scriptedModel(reading(lines, options.otherwise)),
    world,
    store,
    ...options,
    clock,
    policy,
  });
  onTestFinished(() => trial.stop());

  /** A run to its end, and what its calls came to. */
  async function run(message: string, wanted: Wanted = {}) {
    const runId = await trial.submit(message, wanted);
    await trial.ended(runId);
    return { runId, ...(await cameTo(runId)) };
  }

  async function cameTo(runId: RunId) {
    const ended = await trial.ended(runId);
    const entries = await trial.entries(runId);
    const policyIds = entries.flatMap((entry) => {
      if (entry.kind === "VALIDATE_CALLS") return entry.decided.calls.map(({ policyId }) => policyId);
      return entry.kind === "COMMIT" ? entry.decided.skipped.map(({ policyId }) => policyId) : [];
    });
    const actions = entries.flatMap((entry) => {
      const answered = entry.kind === "INFER" && entry.result?.type === "model.answered" ? entry.result : null;
      return answered?.notes?.actions ?? [];
    });
    expect(ended.outcome).toMatch(/^COMPLETED_/);
    return { sessionId: ended.sessionId, policyIds, actions, entries };
  }

  function decide(
    sessionId: SessionId,
    act: CapabilityDecision["act"],
    capability: string,
    more: Partial<CapabilityDecision> = {},
  ): Promise<CapabilitiesAnswer> {
    const decision = { sessionId, act, capability, expiresInS: null, principal: "operator", key: null, ...more };
    return trial.runtime.capabilities.decide(decision);
  }

  /** By name. */
  async function standing(sessionId: SessionId) {
    const answer = await trial.runtime.capabilities.of(sessionId);
    if (!answer.ok) throw new Error(answer.message);
    const { granted, pending } = answer.capabilities;
    return {
      granted: granted.map(({ capability }) => capability),
      pending: pending.map(({ capability }) => capability),
    };
  }

  return { trial, world, port, server, asked, run, cameTo, decide, standing };
}

/** A call of `http.get`. */
export function gets(host: string, port: number, id = "call_1"): ModelReply {
  return calls([fetching(host, port, id)]);
}

export function fetching(host: string, port: number, id = "call_1") {
  return { id, tool: "http.get", args: { url: `http://${host}:${port}/` } };
}

/** Ports are known only once the server listens, and scripts are written before. */
export const later =
  (reply: () => ModelReply | Promise<ModelReply>): ModelScript =>
  () =>
    reply();

export function notes(patch: object, text = "noted"): ModelReply {
  return says(`${text}<<<NOTES_JSON>>>${JSON.stringify(patch)}<<<END_NOTES_JSON>>>`);
}

function reading(lines: Lines, otherwise: ModelScript = () => says("done")): ModelScript {
  return (request, signal) => {
    const { messages } = request;
    const since = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
    const turn = since.filter(({ role }) => role === "assistant").length;
    const script = lines[askedFor(request)];
    const line = script === undefined ? otherwise : (script[turn] ?? says("done"));
    return typeof line === "function" ? line(request, signal) : line;
  };
}

function withWeb(world: OutsideWorld, port: number): OutsideWorld {
  const web = createToolbox(
    httpTools({
      clock: systemClock,
      // No cache, and so no file.
      ttlS: 0,
      cacheFile: "/nowhere",
      searchUrl: null,
      allowAddresses: [...NAMES, "127.0.0.1"].map((host) => `${host}:${port}`),
      resolve: () => Promise.resolve(["127.0.0.1"]),
    }),
    {
      clock: systemClock,
      onDefect: (error) => {
        throw error;
      },
    },
  );
  const { toolbox } = world;
  const having = (tool: string) => (tool.startsWith("http.") ? web : toolbox);
  const both: Toolbox = {
    digest: toolbox.digest,
    tools: [...toolbox.tools, ...web.tools],
    plan: (tool, args) => having(tool).plan(tool, args),
    run: (planned, context) => having(planned.tool).run(planned, context),
    summarize: toolbox.summarize,
  };
  return Object.assign(world, { toolbox: both });
}
