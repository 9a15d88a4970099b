/** How the home is, from what is stored, configured and installed. Nothing is asked of a provider. */
import { stat } from "node:fs/promises";
import manifest from "../../../package.json" with { type: "json" };
import type { HomeStatus } from "../../assistant/status/operations.ts";
import type { FindModel } from "../../runtime/model/model-registry.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type { Sandbox } from "../../runtime/ports/sandbox.ts";
import type { RunStatus, Store } from "../../runtime/ports/store.ts";
import { systemCodeOf } from "../boot-error.ts";
import type { Config } from "../config/config.ts";
import { differences, needsRestart, pathsOf } from "../config/config-changes.ts";
import { resolveConfiguredModelRef } from "../config/resolve-configured-model-ref.ts";
import type { Home } from "../home.ts";
import { spaceProblems } from "../home-size.ts";
import type { Settings } from "../settings.ts";
import { missingVariables } from "./configuration.ts";
import { listModels } from "./models.ts";

export interface StatusParts {
  readonly home: Home;
  readonly store: Pick<Store, "listRuns" | "pendingApprovals" | "usedBytes">;
  readonly clock: Pick<Clock, "nowMs" | "monotonicMs">;
  readonly settings: () => Settings;
  /** With what waits for a restart. */
  readonly written: () => Config;
  readonly findModel: FindModel;
  readonly sandbox: Pick<Sandbox, "check">;
  readonly workers: () => number;
  /** Why changed settings were not taken over; null: they were. */
  readonly settingsProblem: () => string | null;
}

const SHOWN_RUNS = 20;
const MOST_APPROVALS = 100;

export function openStatus(parts: StatusParts): () => Promise<HomeStatus> {
  const { clock } = parts;
  const startedAt = timestampOf(clock.nowMs());
  const startedMs = clock.monotonicMs();
  return async () => ({
    version: manifest.version,
    started_at: startedAt,
    uptime_s: Math.floor((clock.monotonicMs() - startedMs) / 1000),
    ...(await statusOf(parts)),
  });
}

async function statusOf(parts: StatusParts): Promise<Omit<HomeStatus, "version" | "started_at" | "uptime_s">> {
  const { home, store, settings, written, findModel, sandbox, workers } = parts;
  const { config, readVariable } = settings();
  const count = async (status: RunStatus): Promise<number> =>
    (await store.listRuns({ status, limit: 1, offset: 0 })).total;
  const [latest, queued, running, waiting, missing, bytes] = await Promise.all([
    store.listRuns({ limit: SHOWN_RUNS, offset: 0 }),
    count("queued"),
    count("running"),
    count("waiting_approval"),
    sandbox.check(),
    bytesOf(home.database),
  ]);
  const model = selectedModel(config, findModel);
  const restart = pathsOf(differences(config, written()).filter(({ path }) => needsRestart(path)));
  const keys = missingVariables(config, readVariable);
  return {
    model,
    providers: listModels({ config, readVariable }, findModel, new Map()).providers.map((provider) => ({
      ...{ id: provider.id, enabled: provider.enabled, key_present: provider.key_present },
      problem: provider.missing === null ? null : `Add ${provider.missing.line} to ${provider.missing.file}.`,
    })),
    runs: latest.runs.map(({ runId, agentId, sessionId, status, outcome, model: ref, createdAt }) => ({
      ...{ id: runId, agent_id: agentId, session_id: sessionId, status, outcome, model: ref, created_at: createdAt },
    })),
    queue: { queued, running, waiting_approval: waiting, max: config.gateway.queue.max, workers: workers() },
    store: { bytes },
    sandbox: { ready: missing.length === 0, missing: [...missing] },
    channels: Object.entries(config.channels).map(([name, { kind, class: kindOfSender }]) => ({
      ...{ name, kind, class: kindOfSender },
    })),
    restart_required: restart,
    attention: [
      ...problemIn("config.invalid", parts.settingsProblem()),
      ...problemIn("model.unusable", model.problem),
      ...keys.map(({ line, file, path }) => ({
        code: "key.missing",
        message: `${path} has no key: add ${line} to ${file}.`,
      })),
      ...missing.map((message) => ({ code: "sandbox.required", message })),
      ...(restart.length === 0
        ? []
        : [{ code: "restart.required", message: `Restart the gateway: ${restart.join(", ")} changed.` }]),
      ...(await spaceProblems(home, config.retention, () => store.usedBytes())),
      ...(await approvalsIn(store)),
    ],
  };
}

async function approvalsIn(store: StatusParts["store"]): Promise<HomeStatus["attention"]> {
  const pending = await store.pendingApprovals({ limit: MOST_APPROVALS, offset: 0 });
  if (pending.length === 0) return [];
  const number = pending.length === MOST_APPROVALS ? `${MOST_APPROVALS} or more` : String(pending.length);
  return [
    {
      code: "approval.waiting",
      message: `${number} ${pending.length === 1 ? "call waits" : "calls wait"} for your answer.`,
    },
  ];
}

function selectedModel(config: Config, findModel: FindModel): HomeStatus["model"] {
  const verdict = resolveConfiguredModelRef(config, null);
  if (!verdict.ok) return { ref: null, provider: null, problem: verdict.message };
  const { ref, providerId: provider } = verdict.resolved;
  const choice = findModel(ref);
  return { ref, provider, problem: choice.ok ? null : choice.message };
}

function problemIn(code: string, message: string | null): HomeStatus["attention"] {
  return message === null ? [] : [{ code, message }];
}

async function bytesOf(database: string): Promise<number> {
  const sizes = await Promise.all([database, `${database}-wal`].map(sizeOf));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (systemCodeOf(error) === null) throw error;
    return 0;
  }
}
