/**
 * The assistant of a gateway, which outlasts its store: when nothing can be written any more it refuses, says so, and
 * opens the home again until that works (F3, F4).
 *
 * K1. After a failed commit nothing is performed on memory's word: the store is closed, opened anew, checked, and every
 *     run recovered from what is on disk.
 * K2. While it is down, requests are told `store.unavailable`; nothing is queued in memory. The door opens when every
 *     unfinished run has been claimed.
 * K3. The home stays locked meanwhile: commands ask this gateway, and hear what is wrong, and nobody else writes there.
 * K4. What could not be opened whole is closed again. The first time that is an error of whoever starts the gateway.
 */
import { lockHome } from "../adapters/store-sqlite/open-database.ts";
import type { Assistant } from "../assistant/assistant.ts";
import { apiApprover } from "../runtime/ports/approver.ts";
import { StoreError } from "../runtime/ports/store.ts";
import { openSurety, type Surety, type SuretyOptions } from "./open-surety.ts";
import { watchPolicy } from "./watch-policy.ts";

const TRY_AGAIN_MS = 1_000;
const STOP_GRACE_MS = 10_000;

export interface AssistantSupervisor {
  readonly door: Assistant;
  readonly isUp: () => boolean;
  close(): Promise<void>;
}

export async function superviseAssistant(
  options: Omit<SuretyOptions, "approver" | "onStoreFailure" | "policy" | "lock">,
  remark: (line: string) => void,
): Promise<AssistantSupervisor> {
  const { clock, home, config } = options;
  let lock = lockHome(home.directory);
  const policy = watchPolicy(home.configFile, config, remark);
  let current: Surety | null = null;
  let isClosing = false;
  /** Settles when the home is open again, or we are closing. */
  let reopening = Promise.resolve();
  let wakeUp = (): void => {};

  const letGo = (): void => {
    policy.close();
    lock.release();
  };

  const keepLocked = (): void => {
    if (lock.isInPlace()) return;
    const anew = lockHome(home.directory);
    lock.release();
    lock = anew;
  };

  const open = async (): Promise<Surety> => {
    keepLocked();
    const failure: { seen: { readonly error: unknown } | null } = { seen: null };
    const surety = await openSurety({
      ...options,
      lock,
      remark,
      policy: policy.current,
      approver: apiApprover,
      onStoreFailure: (error) => {
        if (current === surety) fail(surety, error);
        else failure.seen ??= { error };
      },
    });
    try {
      await surety.runtime.recover();
      if (failure.seen !== null) throw failure.seen.error;
      return surety;
    } catch (error) {
      await surety.close(0).catch(() => {});
      throw error;
    }
  };

  const fail = (failed: Surety, error: unknown): void => {
    current = null;
    if (isClosing) return;
    remark(`error store.unavailable: ${error instanceof Error ? error.message : "nothing can be written"}`);
    remark("Not accepting runs; the home is opened again as soon as it can be.");
    reopening = reopen(failed);
  };

  const reopen = async (failed: Surety): Promise<void> => {
    // What cannot be flushed any more is on nobody's word.
    await failed.close(0).catch(() => {});
    while (!isClosing) {
      await pause();
      if (isClosing) return;
      try {
        current = await open();
        remark("The home is open again; accepting runs.");
        return;
      } catch {
        // Said once already; it is tried until it works.
      }
    }
  };

  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const callOff = clock.wake(TRY_AGAIN_MS, resolve);
      wakeUp = () => {
        callOff();
        resolve();
      };
    });

  const there = (): Assistant => {
    if (current === null) throw new StoreError("store.unavailable", "Nothing can be written at the moment.");
    return current.assistant;
  };

  current = await open().catch((error: unknown) => {
    letGo();
    throw error;
  });
  return {
    door: {
      submit: async (request) => await there().submit(request),
      run: async (runId) => await there().run(runId),
      runs: async (filter) => await there().runs(filter),
      watch: async (runId, afterSeq, signal) => await there().watch(runId, afterSeq, signal),
      cancel: async (runId, principal) => await there().cancel(runId, principal),
      bundle: async (runId) => await there().bundle(runId),
      approvals: async (page) => await there().approvals(page),
      decide: async (decision) => await there().decide(decision),
      capabilities: async (sessionId) => await there().capabilities(sessionId),
      pendingCapabilities: async (page) => await there().pendingCapabilities(page),
      decideCapability: async (decision) => await there().decideCapability(decision),
      marks: async () => await there().marks(),
      removeMark: async (path, principal) => await there().removeMark(path, principal),
    },
    isUp: () => current !== null,
    close: async () => {
      isClosing = true;
      wakeUp();
      await reopening;
      try {
        await current?.close(STOP_GRACE_MS);
      } finally {
        letGo();
      }
    },
  };
}
