/** Traces and metrics for others, where the config turns them on. Loaded only then, and with it OpenTelemetry's SDK. */
import { Telemetry } from "../adapters/telemetry/telemetry.ts";
import { runSpans } from "../kernel/journal/views/run-spans.ts";
import type { Mount } from "../runtime/operations/mount.ts";
import type { Store, StoredRun } from "../runtime/ports/store.ts";
import { findContract, readWholeJournal } from "../runtime/run/read-run.ts";
import type { Config } from "./config/config.ts";

export interface OpenedTelemetry {
  /** Not awaited by the run. */
  readonly runEnded: (store: Pick<Store, "readEntries">, run: StoredRun) => void;
  readonly mounts: readonly Mount[];
  close(): Promise<void>;
}

export function openTelemetry(
  { prometheus, otlp }: Config["telemetry"],
  version: string,
  onDefect: (error: unknown) => void,
): OpenedTelemetry {
  const telemetry = new Telemetry({ version, prometheus, otlp: otlp ?? null });
  let working = Promise.resolve();
  const tell = async (store: Pick<Store, "readEntries">, run: StoredRun): Promise<void> => {
    const contract = findContract(run);
    const { entries } = await readWholeJournal(store, run.runId);
    if (contract !== null) telemetry.record(runSpans(entries, contract));
  };
  const metrics: Mount = {
    ...{ paths: ["/metrics"], methods: ["GET"], scope: "operate" },
    load: async () => async () => new Response(await telemetry.metrics(), { headers: PROMETHEUS_TEXT }),
  };
  return {
    runEnded: (store, run) => {
      working = working.then(() => tell(store, run)).catch(onDefect);
    },
    mounts: prometheus ? [metrics] : [],
    close: async () => {
      await working;
      await telemetry.close();
    },
  };
}

const PROMETHEUS_TEXT = { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" };
