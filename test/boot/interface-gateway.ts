/** A gateway in this process on a home of its own, as a user interface sees it. The model makes the calls that a message lists. */
import { onTestFinished, vi } from "vitest";
import { controlUi } from "../../src/adapters/control-ui/control-ui.ts";
import { createGateway } from "../../src/adapters/gateway/create-gateway.ts";
import { openAiApi } from "../../src/adapters/openai-api/openai-api.ts";
import type { Config } from "../../src/boot/config/config.ts";
import { catalogOf } from "../../src/boot/configured-models.ts";
import { findControlUi } from "../../src/boot/find-control-ui.ts";
import { openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import type { Mount } from "../../src/runtime/operations/mount.ts";
import { apiApprover } from "../../src/runtime/ports/approver.ts";
import { IDENTITY } from "../adapters/gateway/test-identity.ts";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryHome } from "./temporary-home.ts";

const TOKEN = "correct-horse-battery-staple";
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };
const WAIT = { timeout: 30_000, interval: 10 };

/** `{tool, ...args}`. */
export type Step = { readonly tool: string } & Readonly<Record<string, unknown>>;

export interface Frame {
  readonly event: string;
  readonly id: string;
  readonly data: unknown;
}

export async function openInterface(also: Partial<Config> | object = {}) {
  const server = await startOpenAiServer(({ body }) => {
    const asked = body.messages.findLastIndex(({ role }) => role === "user");
    const steps = stepsIn(String(body.messages[asked]?.["content"]));
    const step = steps[body.messages.slice(asked).filter(({ role }) => role === "tool").length];
    if (step === undefined) return answer({ text: "That was it." });
    const { tool, ...args } = step;
    return answer({ calls: [{ name: tool, arguments: args }] });
  });
  onTestFinished(() => server.close());
  const models = { m: { contextWindow: 32_768, maxOutputTokens: 1024, costPer1kInput: 0.001, costPer1kOutput: 0.002 } };
  const providers = { loop: { baseUrl: server.baseUrl, local: true, models } };
  const config = readOk(JSON.stringify({ models: { default: "loop:m", providers }, ...also }));
  const home = await temporaryHome();
  await openHome(home);
  const defects: unknown[] = [];
  const surety = await openSurety({
    ...{ home, config, clock: systemClock, random: systemRandomness, token: TOKEN, approver: apiApprover },
    readVariable: () => undefined,
    onDefect: (_id, error) => defects.push(error),
  });
  onTestFinished(() => surety.close(1000));
  const { operations } = surety;
  // As `surety start` has them.
  const mounts: readonly Mount[] = [
    controlUi(findControlUi()),
    ...openAiApi({ operations, clock: systemClock, catalog: () => catalogOf(config) }),
  ];
  const gateway = createGateway({
    mounts,
    ...{ operations: surety.operations, conversations: surety.conversations, random: systemRandomness },
    ...{ credentials: surety.access, identity: IDENTITY, clock: systemClock },
    onError: (error) => defects.push(error),
  });
  const { url, close } = await gateway.listen({ port: 0 });
  onTestFinished(() => close(0));

  const ask = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const answered = await fetch(`${url}${path}`, {
      ...{ method, headers: { ...AUTHORIZED, "content-type": "application/json", ...headers } },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answered.text();
    return { status: answered.status, headers: answered.headers, text, json: text === "" ? null : JSON.parse(text) };
  };
  const get = async (path: string) => (await ask("GET", path)).json;

  return {
    ...{ home, surety, mounts, defects, url, ask, get, modelPlace: new URL(server.baseUrl).host },
    async submit(steps: readonly Step[] | string, more: object = {}): Promise<string> {
      const message = typeof steps === "string" ? steps : JSON.stringify(steps);
      const { status, json } = await ask("POST", "/v1/runs", { agent_id: "main", message, ...more });
      if (status !== 202) throw new Error(JSON.stringify(json));
      return json.id;
    },
    ended: (id: string) =>
      vi.waitFor(async () => {
        const record = await get(`/v1/runs/${id}`);
        if (record.outcome === null) throw new Error(`${id} is ${record.status}`);
        return record;
      }, WAIT),
    /** The question about this run. */
    cardOf: (id: string) =>
      vi.waitFor(async () => {
        const { approvals } = await get("/api/approvals");
        const card = approvals.find(({ run_id }: { readonly run_id: string }) => run_id === id);
        if (card === undefined) throw new Error(`${id} asks nothing`);
        return card;
      }, WAIT),
    async listen(path: string, headers: Record<string, string> = {}) {
      const leaving = new AbortController();
      onTestFinished(() => leaving.abort());
      const answered = await fetch(`${url}${path}`, { headers: { ...AUTHORIZED, ...headers }, signal: leaving.signal });
      return { status: answered.status, leave: () => leaving.abort(), ...reading(answered) };
    },
  };
}

function stepsIn(message: string): readonly Step[] {
  return message.startsWith("[") ? JSON.parse(message) : [];
}

/** The frames of an event stream, one after the other. */
function reading({ body }: Response) {
  const frames = (async function* (): AsyncGenerator<Frame, void> {
    let text = "";
    for await (const chunk of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        const fields = Object.fromEntries(
          text
            .slice(0, end)
            .split("\n")
            .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
        );
        text = text.slice(end + 2);
        const { event, id = "", data } = fields;
        if (event !== undefined) yield { event, id, data: JSON.parse(data ?? "null") };
      }
    }
  })();
  const next = async (): Promise<Frame> => {
    const { value, done } = await frames.next();
    if (done === true) throw new Error("the stream has ended");
    return value;
  };
  return {
    next,
    /** All frames up to one that fits. */
    async until(fits: (frame: Frame) => boolean): Promise<readonly Frame[]> {
      const heard: Frame[] = [];
      do heard.push(await next());
      while (!fits(heard.at(-1) as Frame));
      return heard;
    },
  };
}
