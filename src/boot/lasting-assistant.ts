/**
 * The assistant of a gateway, which outlasts its store: when nothing can be written any more it refuses, says so, and
 * opens the home again until that works (F3, F4).
 *
 * K1. After a failed commit nothing is performed on memory's word: the store is closed, opened anew, checked, and every
 *     run recovered from what is on disk.
 * K2. While it is down, requests are told `store.unavailable`; nothing is queued in memory.
 */
import type { Assistant } from "../assistant/assistant.ts";
import { StoreError } from "../runtime/ports/store.ts";
import { operatorOverApi } from "./approvers.ts";
import { openSurety, type Surety, type SuretyOptions } from "./open-surety.ts";

const TRY_AGAIN_MS = 1_000;
const STOP_GRACE_MS = 10_000;

export interface LastingAssistant {
  readonly door: Assistant;
  close(): Promise<void>;
}

export async function openLastingAssistant(
  options: Omit<SuretyOptions, "approver" | "onStoreFailure">,
  remark: (line: string) => void,
): Promise<LastingAssistant> {
  const { clock } = options;
  let current: Surety | null = null;
  let isClosing = false;
  let callOff = (): void => {};

  const open = async (): Promise<void> => {
    const opened = await openSurety({ ...options, approver: operatorOverApi, onStoreFailure: fail });
    current = opened;
    await opened.runtime.recover();
  };

  const fail = (error: unknown): void => {
    const failed = current;
    current = null;
    if (failed === null || isClosing) return;
    remark(`error store.unavailable: ${error instanceof Error ? error.message : "nothing can be written"}`);
    remark("Not accepting runs; the home is opened again as soon as it can be.");
    // What cannot be flushed any more is on nobody's word.
    failed
      .close(0)
      .catch(() => {})
      .finally(tryAgain);
  };

  const tryAgain = (): void => {
    if (isClosing) return;
    open().then(
      () => remark("The home is open again; accepting runs."),
      () => {
        callOff = clock.wake(TRY_AGAIN_MS, tryAgain);
      },
    );
  };

  const there = (): Assistant => {
    if (current === null) throw new StoreError("store.unavailable", "Nothing can be written at the moment.");
    return current.assistant;
  };

  await open();
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
    },
    close: async () => {
      isClosing = true;
      callOff();
      await current?.close(STOP_GRACE_MS);
    },
  };
}
