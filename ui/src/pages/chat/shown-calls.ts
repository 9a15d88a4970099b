/** Calls as they are drawn, from the events of their run and, once the turn is recorded, with arguments and results. */
import type { LiveCall } from "../../data/live-run.ts";
import { durationWords } from "../../parts/time.tsx";
import type { TurnCall } from "./turns.ts";

type CallLabels = NonNullable<NonNullable<LiveCall["result"]>["labels"]>;

export interface ShownCall {
  readonly id: string;
  readonly tool: string;
  readonly summary: string;
  /** JSON, as it was proposed; may be cut. */
  readonly args: string | null;
  readonly state: "running" | "done" | "failed";
  readonly durationMs: number | null;
  readonly result: string;
  readonly isTruncated: boolean;
  /** Null: not known, or nothing was answered. */
  readonly labels: CallLabels | null;
  readonly approval: LiveCall["approval"];
}

export function fromLive({ callId, stepId, tool, shown, result, output, approval }: LiveCall): ShownCall {
  return {
    id: `${stepId} ${callId}`,
    tool,
    summary: withoutName(shown, tool),
    args: null,
    state: result === null ? "running" : result.ok ? "done" : "failed",
    durationMs: result?.duration_ms ?? null,
    result: result?.error?.message ?? output,
    isTruncated: result?.truncated ?? false,
    labels: result?.labels ?? null,
    approval,
  };
}

/** The record's calls; what only the events have comes from them, as soon as they are read. */
export function recordedCalls(calls: readonly TurnCall[], live: readonly LiveCall[]): readonly ShownCall[] {
  return calls.map(({ id, tool, args, ok, result }): ShownCall => {
    const found = live.find(({ callId }) => callId === id);
    const seen = found === undefined ? null : fromLive(found);
    return {
      id,
      tool,
      summary: seen?.summary ?? args,
      args,
      state: ok === false ? "failed" : "done",
      durationMs: seen?.durationMs ?? null,
      result: ok === false && seen !== null && seen.result !== "" ? seen.result : result,
      isTruncated: seen?.isTruncated ?? false,
      labels: seen?.labels ?? null,
      approval: seen?.approval ?? null,
    };
  });
}

/** Calls in a row; one that was asked about stands alone. */
export function callGroups(calls: readonly ShownCall[]): readonly (readonly ShownCall[])[] {
  const groups: ShownCall[][] = [];
  for (const call of calls) {
    const last = groups.at(-1);
    if (last === undefined || call.approval !== null || last[0]?.approval !== null) groups.push([call]);
    else last.push(call);
  }
  return groups;
}

export function foldedWords(calls: readonly ShownCall[]): string {
  const failed = calls.filter(({ state }) => state === "failed").length;
  const running = calls.filter(({ state }) => state === "running").length;
  const total = calls.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0);
  const used = running > 0 ? "Using" : "Used";
  return [
    `${used} ${calls.length === 1 ? (calls[0]?.tool ?? "a tool") : `${calls.length} tools`}`,
    ...(failed > 0 ? [calls.length === 1 ? "which failed" : `${failed} failed`] : []),
    ...(total > 0 && running === 0 ? [durationWords(total)] : []),
  ].join(", ");
}

function withoutName(shown: string, tool: string): string {
  return shown.startsWith(`${tool} `) ? shown.slice(tool.length + 1) : shown;
}
