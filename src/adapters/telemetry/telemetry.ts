/**
 * Traces and metrics for others, by OpenTelemetry's SDK: sent to a collector over OTLP, or answered at /metrics for
 * Prometheus. Loaded only where the config turns one of them on.
 *
 * T1. Spans and measures of a run are made from its journal when it has ended. They hold names, numbers and codes, no content.
 * T2. A collector that is away costs what it misses: nothing waits for it, and what is not sent is bounded and dropped.
 */
import { type Attributes, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { RunSpan } from "../../kernel/journal/views/run-spans.ts";

export interface TelemetryOptions {
  readonly version: string;
  readonly prometheus: boolean;
  /** Null: nothing is sent. Headers come from the SDK's own variable. */
  readonly otlp: { readonly url: string; readonly intervalS: number } | null;
}

/** With what is tried again: a stop waits for no more. */
const EXPORT_MS = 2_000;
/** Of the conventions. */
const TOKEN_BUCKETS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const SECOND_BUCKETS = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);

export class Telemetry {
  readonly #meters: MeterProvider;
  readonly #tracers: BasicTracerProvider | null;
  readonly #prometheus: PrometheusExporter | null;
  readonly #measures: ReturnType<typeof measuresOf>;

  constructor({ version, prometheus, otlp }: TelemetryOptions) {
    const resource = resourceFromAttributes({ "service.name": "surety", "service.version": version });
    // It would listen on a port of its own.
    this.#prometheus = prometheus ? new PrometheusExporter({ preventServerStart: true }) : null;
    const exportIntervalMillis = (otlp?.intervalS ?? 0) * 1000;
    this.#meters = new MeterProvider({
      resource,
      readers: [
        ...(this.#prometheus === null ? [] : [this.#prometheus]),
        ...(otlp === null
          ? []
          : [
              new PeriodicExportingMetricReader({
                exporter: new OTLPMetricExporter({ url: `${otlp.url}/v1/metrics`, timeoutMillis: EXPORT_MS }),
                exportIntervalMillis,
                exportTimeoutMillis: Math.min(exportIntervalMillis, EXPORT_MS),
              }),
            ]),
      ],
    });
    this.#tracers =
      otlp === null
        ? null
        : new BasicTracerProvider({
            resource,
            spanProcessors: [
              new BatchSpanProcessor(new OTLPTraceExporter({ url: `${otlp.url}/v1/traces`, timeoutMillis: EXPORT_MS })),
            ],
          });
    this.#measures = measuresOf(this.#meters);
  }

  record([run, ...parts]: readonly RunSpan[]): void {
    if (run === undefined) return;
    for (const span of [run, ...parts]) this.#measure(span);
    const tracer = this.#tracers?.getTracer("surety");
    if (tracer === undefined) return;
    const begin = (span: RunSpan, within = ROOT_CONTEXT) => {
      const kind = span.operation === "chat" ? SpanKind.CLIENT : SpanKind.INTERNAL;
      const attributes = { ...attributesOf(span), ...(span.error === null ? {} : { "error.type": span.error }) };
      const begun = tracer.startSpan(span.name, { startTime: span.startMs, kind, attributes }, within);
      if (span.error !== null) begun.setStatus({ code: SpanStatusCode.ERROR, message: span.error });
      return begun;
    };
    const whole = begin(run);
    for (const part of parts) begin(part, trace.setSpan(ROOT_CONTEXT, whole)).end(part.endMs);
    whole.end(run.endMs);
  }

  /** As Prometheus reads it. */
  async metrics(): Promise<string> {
    if (this.#prometheus === null) return "";
    const { resourceMetrics } = await this.#prometheus.collect();
    return new PrometheusSerializer().serialize(resourceMetrics);
  }

  /** Sends what is left, if it can be sent soon. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#tracers?.shutdown(), this.#meters.shutdown()]);
  }

  #measure({ operation, attributes, error, tokens, startMs, endMs }: RunSpan): void {
    const { runs, calls, duration, usage } = this.#measures;
    const pick = (...names: readonly string[]): Attributes =>
      Object.fromEntries(
        names.flatMap((name) => (attributes[name] === undefined ? [] : [[name, attributes[name]]])),
      ) as Attributes;
    const failed = error === null ? {} : { "error.type": error };
    if (operation === "invoke_agent") runs.add(1, pick("gen_ai.agent.name", "surety.run.outcome"));
    if (operation === "execute_tool") calls.add(1, { ...pick("gen_ai.tool.name"), ...failed });
    if (operation !== "chat") return;
    const of = pick("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model");
    duration.record((endMs - startMs) / 1000, { ...of, ...failed });
    if (tokens === null) return;
    usage.record(tokens.input, { ...of, "gen_ai.token.type": "input" });
    usage.record(tokens.output, { ...of, "gen_ai.token.type": "output" });
  }
}

function measuresOf(meters: MeterProvider) {
  const meter = meters.getMeter("surety");
  return {
    runs: meter.createCounter("surety.runs", { description: "Runs that ended.", unit: "{run}" }),
    calls: meter.createCounter("surety.tool.calls", {
      description: "Calls of tools that were performed.",
      unit: "{call}",
    }),
    duration: meter.createHistogram("gen_ai.client.operation.duration", {
      ...{ description: "How long requests to models took.", unit: "s" },
      advice: { explicitBucketBoundaries: SECOND_BUCKETS },
    }),
    usage: meter.createHistogram("gen_ai.client.token.usage", {
      ...{ description: "Tokens of requests to models.", unit: "{token}" },
      advice: { explicitBucketBoundaries: TOKEN_BUCKETS },
    }),
  };
}

function attributesOf({ attributes }: RunSpan): Attributes {
  return attributes as Attributes;
}
