/** A gateway in this process that watches the files of its home, as `surety start` does, on a loopback port. */
import { readFile, writeFile } from "node:fs/promises";
import { onTestFinished, vi } from "vitest";
import { createGateway } from "../../src/adapters/gateway/create-gateway.ts";
import { LogFiles } from "../../src/adapters/logs/log-files.ts";
import { superviseAssistant } from "../../src/boot/assistant-supervisor.ts";
import { loadConfig } from "../../src/boot/config/load-config.ts";
import { withEnvFile } from "../../src/boot/environment.ts";
import { openHome } from "../../src/boot/home.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { IDENTITY } from "../adapters/gateway/test-identity.ts";
import { temporaryHome } from "./temporary-home.ts";

const TOKEN = "correct-horse-battery-staple";
const WAIT = { timeout: 30_000, interval: 10 };

interface Files {
  readonly config?: string;
  readonly env?: string;
}

export async function openLiveGateway({ config, env }: Files = {}) {
  const home = await temporaryHome();
  await openHome(home);
  if (config !== undefined) await writeFile(home.configFile, config);
  if (env !== undefined) await writeFile(home.envFile, env);
  const defects: unknown[] = [];
  const remarks: string[] = [];
  const loaded = await loadConfig(home.configFile);
  const logs = new LogFiles(home.logsDirectory, systemClock, loaded.logging);
  const supervisor = await superviseAssistant(
    {
      ...{ home, clock: systemClock, random: systemRandomness, token: TOKEN },
      ...{ config: loaded, logs },
      readVariable: await withEnvFile(() => undefined, home.envFile),
      onDefect: (_id, error) => defects.push(error),
    },
    (line) => remarks.push(line),
  );
  onTestFinished(() => supervisor.close());
  const gateway = createGateway({
    ...{ operations: supervisor.operations, conversations: supervisor.conversations, random: systemRandomness },
    ...{ credentials: supervisor.credentials, identity: IDENTITY, clock: systemClock },
    sites: () => supervisor.config().gateway,
    onError: (error) => defects.push(error),
    onRefused: (refusal) => logs.write("gateway", "warn", "request.refused", refusal),
  });
  const { url, close } = await gateway.listen({ port: 0 });
  onTestFinished(() => close(0));

  const askText = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) => {
    const answered = await fetch(`${url}${path}`, {
      ...{ method, headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers } },
      ...(body === undefined ? {} : { body }),
    });
    const text = await answered.text();
    const etag = answered.headers.get("etag") ?? "";
    return { status: answered.status, etag, text, json: text === "" ? null : JSON.parse(text) };
  };
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    askText(method, path, body === undefined ? undefined : JSON.stringify(body), headers);

  return {
    ...{ home, url, defects, remarks, ask, askText, logs },
    patch: (patch: unknown, headers: Record<string, string> = {}, query = "") =>
      ask("PATCH", `/api/config${query}`, patch, headers),
    file: () => readFile(home.configFile, "utf8"),
    submit: async (message: string, more: object = {}): Promise<string> => {
      const { status, text, json } = await ask("POST", "/v1/runs", { agent_id: "main", message, ...more });
      if (status !== 202) throw new Error(text);
      return json.id;
    },
    ended: (id: string) =>
      vi.waitFor(async () => {
        const { json } = await ask("GET", `/v1/runs/${id}`);
        if (json.outcome === null) throw new Error(`${id} is ${json.status}`);
        return json;
      }, WAIT),
    said: (pattern: RegExp) =>
      vi.waitFor(() => {
        if (!remarks.some((line) => pattern.test(line))) throw new Error(`not said: ${pattern}`);
      }, WAIT),
  };
}
