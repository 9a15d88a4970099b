/** A home with a tiny model in it, opened, and runs of it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ContractOverrides } from "../../../src/assistant/runs/run-request.ts";
import { openHome } from "../../../src/boot/home.ts";
import { openSurety } from "../../../src/boot/open-surety.ts";
import type { Surety } from "../../../src/boot/opened-surety.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { systemRandomness } from "../../../src/boot/system-randomness.ts";
import { noApprover } from "../../../src/runtime/ports/approver.ts";
import { readOk } from "../config/example-config.ts";
import { temporaryHome } from "../temporary-home.ts";
import { linkPackages } from "./llama-packages.ts";
import { PROBE } from "./probe-tool.ts";
import { TINY_CONTEXT, tinyGguf } from "./tiny-gguf.ts";

export interface LocalSettings {
  readonly file?: Buffer;
  readonly provider?: object;
  readonly model?: object;
  readonly models?: object;
  readonly isInstalled?: boolean;
}

export async function openLocal(settings: LocalSettings = {}): Promise<{ surety: Surety; directory: string }> {
  const home = await temporaryHome();
  await openHome(home);
  if (settings.isInstalled !== false) await linkPackages(home.directory);
  await writeFile(join(home.directory, "tiny.gguf"), settings.file ?? tinyGguf());
  const tiny = { contextWindow: TINY_CONTEXT, maxOutputTokens: 4_096, modelPath: "tiny.gguf", ...settings.model };
  const local = { kind: "llama_cpp", threads: 1, models: { tiny, ...settings.models }, ...settings.provider };
  const tools = { policy: { allow: ["*"], channels: { cli_local: ["*"] } } };
  const surety = await openSurety({
    ...{ home, clock: systemClock, random: systemRandomness, token: null, approver: noApprover, moreTools: [PROBE] },
    config: readOk(JSON.stringify({ models: { default: "local:tiny", providers: { local } }, tools })),
    readVariable: () => undefined,
    onDefect: (_, error) => {
      throw error;
    },
  });
  onTestFinished(() => surety.close(1_000));
  return { surety, directory: home.directory };
}

export const STRICT = {
  toolPolicy: "required",
  strictMode: true,
  maxInferences: 1,
  allowedTools: [PROBE.name],
} as const;

export async function submitLocal({ assistant }: Surety, message: string, contract: ContractOverrides, model?: string) {
  const submitted = await assistant.submit({
    ...{ agentId: "main", message, sessionId: null, model: model ?? null, thinkingMode: null, contract },
    ...{ approvedTools: [], source: "cli", principal: "operator", idempotencyKey: null },
  });
  if (!submitted.ok) throw new Error(submitted.message);
  return submitted.runId;
}

export async function endOf({ assistant }: Surety, runId: Awaited<ReturnType<typeof submitLocal>>) {
  for await (const _ of (await assistant.watch(runId, 0, new AbortController().signal)) ?? []);
  const run = await assistant.run(runId);
  if (run === null) throw new Error("no run");
  return run;
}

export async function runLocal(surety: Surety, message: string, contract: ContractOverrides = STRICT) {
  return await endOf(surety, await submitLocal(surety, message, contract));
}

/** What the run's journal holds. */
export async function bundleOf({ assistant }: Surety, runId: Awaited<ReturnType<typeof submitLocal>>) {
  const bundle = await assistant.bundle(runId);
  if (!bundle.ok) throw new Error("no bundle");
  return JSON.parse(bundle.text);
}
