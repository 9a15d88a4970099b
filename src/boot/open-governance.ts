/**
 * When governance measures what has ended: while no run is at work, a few runs at a time, so that a step costs nothing. It is
 * loaded when it is first needed; while it is off, nothing here costs anything.
 */
import type { Governance, GovernanceParts } from "../assistant/governance/governance.ts";
import type { GovernanceServices } from "../assistant/governance/operations.ts";
import type { DraftingSettings } from "../assistant/runs/draft-run.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { StoreError } from "../runtime/ports/store.ts";

interface Parts extends Omit<GovernanceParts, "clock"> {
  readonly clock: Clock;
  readonly isBusy: () => boolean;
  readonly onDefect: (errorId: string, error: unknown) => void;
}

/** Without a run at work or ended for so long, the gateway counts as idle. */
const IDLE_MS = 1_000;
/** A gateway that is never idle measures some runs as often as this. */
const MAX_WAIT_MS = 60_000;
const RUNS_AT_ONCE = 20;
const CLOSING_MS = 2_000;

interface OpenedGovernance {
  readonly policyState: DraftingSettings["policyState"];
  readonly service: GovernanceServices["governance"];
  /** A run has ended, or the home was opened. */
  readonly wake: () => void;
  /** Before the store is closed. `isWritable`: what is left may be measured. */
  readonly close: (isWritable: boolean) => Promise<void>;
}

export function openGovernance(parts: Parts): OpenedGovernance {
  const { clock, settings, isBusy, onDefect } = parts;
  let opened: Promise<Governance> | null = null;
  let cancelWake: (() => void) | null = null;
  let wantedSinceMs: number | null = null;
  let isClosed = false;
  let working: Promise<void> = Promise.resolve();
  const isEnabled = (): boolean => settings().enabled;
  const open = (): Promise<Governance> => {
    opened ??= import("../assistant/governance/governance.ts").then(({ Governance: Opened }) => new Opened(parts));
    return opened;
  };
  const report = (error: unknown): void => {
    const isAway = error instanceof StoreError && ["store.closed", "store.unavailable"].includes(error.code);
    if (!isAway) onDefect("governance", error);
  };
  const measure = async (): Promise<void> => {
    for (let isMore = true; isMore && !isClosed && isEnabled(); ) {
      const waitedMs = clock.monotonicMs() - (wantedSinceMs ?? clock.monotonicMs());
      if (isBusy() && waitedMs < MAX_WAIT_MS) return wake();
      wantedSinceMs = clock.monotonicMs();
      isMore = await (await open()).measureEnded(RUNS_AT_ONCE);
    }
    wantedSinceMs = null;
  };
  const wake = (): void => {
    if (isClosed || !isEnabled()) return;
    wantedSinceMs ??= clock.monotonicMs();
    cancelWake?.();
    cancelWake = clock.wake(IDLE_MS, () => {
      cancelWake = null;
      working = working.then(measure).catch(report);
    });
  };
  return {
    policyState: async (model) => {
      if (!isEnabled()) return null;
      try {
        return await (await open()).stateFor(model);
      } catch (error) {
        // A run does not fail because of governance: it is drafted without.
        report(error);
        return null;
      }
    },
    service: { isEnabled, open },
    wake,
    close: async (isWritable) => {
      isClosed = true;
      cancelWake?.();
      await working;
      if (!isWritable || wantedSinceMs === null || !isEnabled()) return;
      const untilMs = clock.monotonicMs() + CLOSING_MS;
      try {
        while ((await (await open()).measureEnded(RUNS_AT_ONCE)) && clock.monotonicMs() < untilMs);
      } catch (error) {
        report(error);
      }
    },
  };
}
