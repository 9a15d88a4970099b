/** When retention is applied: only where the config asks for it, an hour apart, while nothing is at work. */
import type { RetentionParts } from "../assistant/erasure/retention.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { type Store, StoreError } from "../runtime/ports/store.ts";
import type { Config } from "./config/config.ts";
import type { Home } from "./home.ts";
import type { openRecords } from "./open-records.ts";

interface OpenRetentionParts extends Pick<RetentionParts, "erasure"> {
  readonly store: Store;
  readonly clock: Clock;
  readonly home: Home;
  readonly limits: () => Config["retention"];
  readonly isBusy: () => boolean;
  readonly records: Pick<ReturnType<typeof openRecords>, "remove">;
  readonly onDefect: (errorId: string, error: unknown) => void;
}

const FIRST_AFTER_MS = 60_000;
const EVERY_MS = 3_600_000;

export function openRetention({ store, clock, home, limits, isBusy, records, erasure, onDefect }: OpenRetentionParts) {
  let cancel: (() => void) | null = null;
  let isClosed = false;
  let working: Promise<unknown> = Promise.resolve();

  const apply = async (): Promise<void> => {
    const { applyRetention } = await import("../assistant/erasure/retention.ts");
    const { homeBytes } = await import("./home-size.ts");
    const parts: RetentionParts = {
      ...{ store, clock, erasure },
      homeBytes: () => homeBytes(home, () => store.usedBytes()),
      removeRecords: (runs) => records.remove(runs),
      isStopping: () => isClosed,
    };
    if ((await applyRetention(parts, limits())) > 0) await store.archive("", 1);
  };

  const wake = (): void => {
    cancel?.();
    cancel = null;
    const { maxAgeDays, maxBytes } = limits();
    if (isClosed || (maxAgeDays === undefined && maxBytes === undefined)) return;
    wakeIn(FIRST_AFTER_MS);
  };

  const wakeIn = (ms: number): void => {
    cancel = clock.wake(ms, () => {
      cancel = null;
      if (isBusy()) return wakeIn(FIRST_AFTER_MS);
      working = apply()
        .catch((error: unknown) => {
          const isAway = error instanceof StoreError && ["store.closed", "store.unavailable"].includes(error.code);
          if (!isAway) onDefect("retention", error);
        })
        .then(() => (isClosed ? undefined : wakeIn(EVERY_MS)));
    });
  };

  return {
    /** The home was opened, or the config changed. */
    wake,
    close: async (): Promise<void> => {
      isClosed = true;
      cancel?.();
      await working;
    },
  };
}
