/** What is written in files as well: sessions while they go on, and the records of ended runs. */
import { SessionFiles, type SessionFilesParts } from "../adapters/records/session-files.ts";
import type { RunId } from "../kernel/vocabulary/identifiers.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { PendingErasure } from "../runtime/ports/stored-erasure.ts";
import { archiveWhenIdle } from "./archive-when-idle.ts";
import type { Config } from "./config/config.ts";
import type { Home } from "./home.ts";
import { RecordsThread } from "./records-thread.ts";

interface RecordsParts extends Pick<SessionFilesParts, "store" | "context"> {
  readonly plainStore: Store;
  readonly clock: Clock;
  readonly home: Home;
  readonly sessions: () => Config["sessions"];
  readonly isBusy: () => boolean;
  readonly onDefect: (errorId: string, error: unknown) => void;
}

export function openRecords({ store, plainStore, clock, home, context, sessions, isBusy, onDefect }: RecordsParts) {
  const sessionFiles = new SessionFiles({
    ...{ store, clock, context, agentsDirectory: home.agentsDirectory },
    get maxBytes() {
      return sessions().maxBytes;
    },
    get storePartials() {
      return sessions().storePartials;
    },
    onError: (error) => onDefect("session-files", error),
  });
  const records = new RecordsThread({
    ...{ store: plainStore, clock, isBusy, homeDirectory: home.directory },
    onError: (error) => onDefect("records", error),
    onDone: () => archive.wake(),
  });
  const archive = archiveWhenIdle({ store: plainStore, clock, isBusy, onError: (error) => onDefect("archive", error) });
  return {
    /** A run has ended, a session was imported, or the home was opened. */
    wake: (): void => {
      sessionFiles.wake();
      records.wake();
    },
    /** What is in files of content that is gone. */
    erase: async (erased: readonly PendingErasure[]): Promise<void> => {
      const { eraseRunRecords } = await import("../adapters/records/erase-run-records.ts");
      const runIds = erased.flatMap(({ runId }) => runId ?? []);
      await records.pausing(() => eraseRunRecords(plainStore, home.directory, runIds));
      await sessionFiles.erase(erased);
    },
    /** Those of runs that retention has forgotten. */
    remove: async (runIds: readonly RunId[]): Promise<void> => {
      const { removeRunRecords } = await import("../adapters/records/erase-run-records.ts");
      await records.pausing(() => removeRunRecords(plainStore, home.directory, runIds));
    },
    follow: (...run: Parameters<SessionFiles["follow"]>): void => sessionFiles.follow(...run),
    /** Before the store is closed. `isWritable`: what is left may be written. */
    close: async (isWritable: boolean): Promise<void> => {
      archive.close();
      await records.close(isWritable);
      if (isWritable) await sessionFiles.close();
    },
  };
}
