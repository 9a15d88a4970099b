/**
 * The events of runs and sessions, from durable entries: a handler never hears of what a crash could undo. A session is idle
 * when nothing ended in it for so long, in this process; without a handler there are no timers.
 */
import type { Entry } from "../../kernel/journal/entry.ts";
import { observedOutcome } from "../../kernel/journal/views/call-outcome.ts";
import type { CallId, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { StoredRun } from "../../runtime/ports/store.ts";
import type { EventBus } from "./event-bus.ts";

export class RunEvents {
  readonly #bus: EventBus;
  readonly #clock: Pick<Clock, "wake">;
  readonly #idleMs: () => number;
  /** Calls being made. */
  readonly #tools = new Map<RunId, Map<CallId, string>>();
  readonly #idle = new Map<SessionId, () => void>();

  constructor(bus: EventBus, clock: Pick<Clock, "wake">, idleMs: () => number) {
    this.#bus = bus;
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  entries({ runId, sessionId }: StoredRun, entries: readonly Entry[]): void {
    const run = { runId, sessionId };
    const tools = this.#tools.get(runId) ?? new Map<CallId, string>();
    for (const entry of entries) {
      if (entry.kind === "run.created") this.#stir(sessionId);
      if (entry.kind === "run.created" || (entry.kind === "COMMIT" && entry.decided.next === "INFER")) {
        this.#bus.emit("agent.thinking", run);
      } else if (entry.kind === "EXECUTE") {
        const { callId, tool } = entry.decided;
        this.#tools.set(runId, tools.set(callId, tool));
        this.#bus.emit("tool.execute", { ...run, callId, tool });
      } else if (entry.kind === "OBSERVE") {
        const { callId, error } = entry.decided;
        const tool = tools.get(callId);
        tools.delete(callId);
        const { ok } = observedOutcome(entry.result, error);
        // Its intent was published by an earlier process.
        if (tool !== undefined) this.#bus.emit("tool.complete", { ...run, callId, tool, ok });
      } else if (entry.kind === "TERMINATE") {
        this.#tools.delete(runId);
      }
    }
  }

  ended({ sessionId }: StoredRun): void {
    this.#stir(sessionId);
    if (!this.#bus.hasHandlers("session.idle")) return;
    const cancel = this.#clock.wake(this.#idleMs(), () => {
      this.#idle.delete(sessionId);
      this.#bus.emit("session.idle", { sessionId });
    });
    this.#idle.set(sessionId, cancel);
  }

  #stir(sessionId: SessionId): void {
    this.#idle.get(sessionId)?.();
    this.#idle.delete(sessionId);
  }

  stop(): void {
    for (const cancel of this.#idle.values()) cancel();
  }
}
