/**
 * What a conformance run found about a model, and where it is kept: `conformance/<reference>.json` in the home, the newest
 * one a model. `surety models ls` reads it.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { BaselineMetrics } from "../assistant/conformance/baseline-metrics.ts";
import type { CaseResult } from "../assistant/conformance/run-corpus.ts";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import { replaceFile } from "./durable-file.ts";
import type { Home } from "./home.ts";

export interface ConformanceReport {
  /** `provider:model`. */
  readonly model: string;
  readonly cases: readonly CaseResult[];
  readonly passed: number;
  readonly failed: number;
  readonly metrics: ReportedMetrics;
}

/** M-P1's, as they are told and kept. */
type ReportedMetrics = ReturnType<typeof reportMetrics>;

export function reportMetrics(metrics: BaselineMetrics) {
  const { runs, noToolCompletionRate, parseFailureRate, inferences, durationMs, maxStepExits } = metrics;
  return {
    ...{ runs, inferences, no_tool_completion_rate: noToolCompletionRate, parse_failure_rate: parseFailureRate },
    ...{ duration_ms: durationMs, max_step_exits: maxStepExits },
  };
}

const PRIVATE_DIRECTORY = 0o700;

export async function openConformanceDirectory({ directory }: Home): Promise<string> {
  const path = join(directory, "conformance");
  await mkdir(path, { recursive: true, mode: PRIVATE_DIRECTORY });
  return path;
}

export async function saveReport(
  home: Home,
  { model, ...found }: ConformanceReport,
  at: string,
  random: RandomBytes,
): Promise<void> {
  const file = join(await openConformanceDirectory(home), `${encodeURIComponent(model)}.json`);
  await replaceFile(file, `${JSON.stringify({ model, at, ...found }, null, 2)}\n`, random);
}
