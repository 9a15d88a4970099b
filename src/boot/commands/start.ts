/** `surety start`: runs the gateway of a home until it is interrupted. */
import { flushCompileCache } from "node:module";
import manifest from "../../../package.json" with { type: "json" };
import { controlUi } from "../../adapters/control-ui/control-ui.ts";
import { createGateway, type Listening } from "../../adapters/gateway/create-gateway.ts";
import { LogFiles } from "../../adapters/logs/log-files.ts";
import { openAiApi } from "../../adapters/openai-api/openai-api.ts";
import type { Tool } from "../../adapters/tools/define-tool.ts";
import { validateModel } from "../../runtime/model/model-registry.ts";
import { superviseAssistant } from "../assistant-supervisor.ts";
import { BootError, EXIT, usageError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import type { Config } from "../config/config.ts";
import { catalogOf, openModelRegistry, startupValidationOf } from "../configured-models.ts";
import { assertProtected, followCertificate, publicUrl, readCertificate } from "../exposure.ts";
import { findControlUi } from "../find-control-ui.ts";
import { announceAddress, loadToken, tokenWriter, withdrawAddress } from "../gateway-access.ts";
import { loginLink } from "../login-link.ts";
import { loggingDefects } from "../open-logging.ts";
import { releaseWhenIdle } from "../release-when-idle.ts";
import { defectReporter } from "../report-failure.ts";
import { loadSettings } from "../settings.ts";
import { onInterrupt } from "../signals.ts";
import { startGuide, warningWithoutSandbox } from "../start-guide.ts";
import { systemClock } from "../system-clock.ts";
import { systemRandomness } from "../system-randomness.ts";

/** For requests under way; runs wait for effects in flight a little longer. */
const GATEWAY_GRACE_MS = 2_000;

/** Of the whole stop: what hangs then is as after a kill, which every run survives. */
const STOP_LIMIT_MS = 20_000;

const PORTS = { least: 0, most: 65_535, example: 8080 };
const WORKERS = { least: 0, most: 1024, example: 8 };

export const command: Action = startWith([]);

/** With these tools beside the built-in ones. */
export function startWith(moreTools: readonly Tool[]): Action {
  return {
    summary: "run the gateway on this home",
    options: {
      host: { type: "string", value: "H", summary: "listen here instead of 127.0.0.1" },
      port: { type: "string", value: "N", summary: "listen on this port; 0 takes any that is free" },
      store: { type: "string", value: "URL", summary: "where to keep everything (default sqlite, in the home)" },
      workers: { type: "string", value: "N", summary: "runs at work at once; 0 accepts without working" },
    },
    examples: ["surety start", "surety start --port 8080 --home ~/work/.surety"],
    run: (context) => performStart(context, moreTools),
  };
}

async function performStart(context: CommandContext, moreTools: readonly Tool[]): Promise<void> {
  const { home, options, output, streams, isJson } = context;
  const address = { host: options.text("host"), port: options.integer("port", PORTS) };
  const workers = options.integer("workers", WORKERS);
  const store = options.text("store") ?? "sqlite";
  if (store !== "sqlite") throw usageError(`unknown store ${store}`, "This version keeps everything in sqlite.");
  const { config, readVariable } = await loadSettings(context);
  const validation = startupValidationOf(config);
  const validate = (stopped?: AbortSignal) =>
    validateModel(
      openModelRegistry(config, readVariable, { clock: systemClock, homeDirectory: home.directory }),
      null,
      systemClock,
      stopped,
    );
  if (validation === "strict") {
    const { ok, detail } = await validate();
    if (!ok) throw new BootError("model.unusable", detail, "");
  }
  const host = address.host ?? config.gateway.host;
  assertProtected(host, config.gateway);
  const tls = await readCertificate(config.gateway, home);
  const token = await loadToken(home, readVariable, systemRandomness);
  const replaceToken = tokenWriter(home, readVariable, systemRandomness);
  const report = defectReporter(streams);
  const logs = new LogFiles(home.logsDirectory, systemClock, config.logging);
  const telemetry = await openTelemetryOf(config, (error) => report("telemetry", error));
  const surroundings = { clock: systemClock, random: systemRandomness, onDefect: report, moreTools, logs };
  const assistant = await superviseAssistant(
    { home, config, readVariable, token, replaceToken, workers, telemetry, ...surroundings },
    (line) => output.remark(line),
  );
  const loggedReport = loggingDefects(logs, report);
  let listening: Listening;
  try {
    const gateway = createGateway({
      operations: assistant.operations,
      conversations: assistant.conversations,
      random: systemRandomness,
      credentials: assistant.credentials,
      identity: assistant.identity,
      sites: () => assistant.config().gateway,
      ...{ tls, proxy: config.gateway.proxy ?? null },
      clock: systemClock,
      mounts: [
        controlUi(findControlUi()),
        ...openAiApi({
          operations: assistant.operations,
          clock: systemClock,
          catalog: () => catalogOf(assistant.config()),
        }),
        ...(telemetry?.mounts ?? []),
      ],
      isHealthy: assistant.isUp,
      onError: (error, errorId) => loggedReport(errorId, error),
      onRefused: (refusal) => logs.write("gateway", "warn", "request.refused", refusal),
    });
    listening = await gateway.listen({ host, port: address.port ?? config.gateway.port });
  } catch (error) {
    await assistant.close();
    throw error;
  }
  await announceAddress(home, listening.url);
  const { version } = manifest;
  logs.write("gateway", "info", "gateway.started", { url: listening.url, version, pid: process.pid });
  const stopped = Promise.withResolvers<void>();
  const stopping = new AbortController();
  onInterrupt(async () => {
    stopping.abort();
    stopFollowing();
    systemClock.wake(STOP_LIMIT_MS, () => process.exit(EXIT.interrupted));
    await withdrawAddress(home);
    await listening.close(GATEWAY_GRACE_MS);
    await assistant.close();
    await telemetry?.close();
    logs.write("gateway", "info", "gateway.stopped", {});
    await logs.flush();
    stopped.resolve();
  });
  const stopFollowing =
    tls === null
      ? () => {}
      : followCertificate({
          ...{ current: tls, renew: listening.renew, clock: systemClock, remark: (line) => output.remark(line) },
          read: () => readCertificate(config.gateway, home),
        });
  if (!isJson) output.line(`surety listening on ${listening.url}`);
  const link = await loginLink(assistant.operations, publicUrl(config.gateway, listening.url));
  if (isJson) output.json({ url: listening.url, login: link.url });
  else {
    output.field("login", link.url);
    for (const [name, value] of startGuide({ home, config, readVariable })) output.field(name, value);
  }
  // Now, since this process may be killed: the next start is faster.
  flushCompileCache();
  releaseWhenIdle(systemClock);
  const { sandboxWhenNeeded } = await import("../built-in-tools.ts");
  const sandboxWarning = await warningWithoutSandbox(config, sandboxWhenNeeded(systemClock));
  if (sandboxWarning !== null && !stopping.signal.aborted) output.remark(sandboxWarning);
  const { bytesOf, spaceProblems } = await import("../home-size.ts");
  for (const { code, message } of await spaceProblems(home, config.retention, () => bytesOf(home.database))) {
    if (!stopping.signal.aborted) output.remark(`warning ${code}: ${message}`);
  }
  if (validation === "warn") {
    const { ok, detail } = await validate(stopping.signal);
    if (!ok && !stopping.signal.aborted) output.remark(`warning model.unusable: ${detail}`);
  }
  await stopped.promise;
}

/** Null, and nothing is loaded, unless the config turns it on. */
async function openTelemetryOf({ telemetry }: Config, onDefect: (error: unknown) => void) {
  if (!telemetry.prometheus && telemetry.otlp === undefined) return null;
  const { openTelemetry } = await import("../open-telemetry.ts");
  return openTelemetry(telemetry, manifest.version, onDefect);
}
