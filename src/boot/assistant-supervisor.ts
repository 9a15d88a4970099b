/**
 * Keeps a gateway's assistant alive through a store outage: it refuses requests, reports why, and reopens the home until
 * that works (F3, F4).
 *
 * K1. After a failed commit nothing is performed from memory: the store is closed, reopened and checked, and every run
 *     recovered from disk.
 * K2. During the outage requests get `store.unavailable`; nothing is queued in memory. Requests are accepted again when
 *     every unfinished run has been claimed.
 * K3. The home stays locked throughout: commands ask this gateway, learn what is wrong, and cannot write beside it.
 * K4. A home that fails to open completely is closed again. At the first start the failure is the caller's error.
 */
import { lockHome } from "../adapters/store-sqlite/open-database.ts";
import { EventBus } from "../assistant/events/event-bus.ts";
import type { Conversations } from "../assistant/messages/messages.ts";
import type { OperationClient } from "../assistant/operations.ts";
import type { Credentials } from "../runtime/access/grant.ts";
import type { Identity } from "../runtime/operations/gateway-identity.ts";
import { type ApprovalCard, apiApprover } from "../runtime/ports/approver.ts";
import type { LogFields, LogLevel } from "../runtime/ports/log.ts";
import { StoreError } from "../runtime/ports/store.ts";
import type { Config } from "./config/config.ts";
import { applicable } from "./config/config-changes.ts";
import { takeHome } from "./gateway-access.ts";
import { openSurety } from "./open-surety.ts";
import type { Surety, SuretyOptions } from "./opened-surety.ts";
import { watchSettings } from "./watch-settings.ts";

const RETRY_MS = 1_000;
const STOP_GRACE_MS = 10_000;
const MAX_COUNTED = 500;

export interface AssistantSupervisor {
  readonly operations: OperationClient;
  readonly conversations: Conversations;
  readonly credentials: Credentials;
  /** With which a gateway proves that it belongs to this home. */
  readonly identity: Identity;
  /** As it is now. */
  readonly config: () => Config;
  readonly isUp: () => boolean;
  close(): Promise<void>;
}

export async function superviseAssistant(
  options: Omit<SuretyOptions, "approver" | "onStoreFailure" | "lock" | "events">,
  remark: (line: string) => void,
): Promise<AssistantSupervisor> {
  const { clock, home, config, readVariable } = options;
  let lock = takeHome(home);
  const events = new EventBus((error) => options.onDefect("event-handler", error));
  const log = (level: LogLevel, event: string, fields: LogFields): void =>
    options.logs?.write("gateway", level, event, fields);
  events.on("config.changed", ({ paths }) => log("info", "config.changed", { paths: [...paths] }));
  const settings = watchSettings({
    ...{ files: home, settings: { config, readVariable }, clock, remark },
    adopt: async (next) => await current?.reconfigure(next),
  });
  let current: Surety | null = null;
  let isClosing = false;
  /** Settles when the home is open again, or when closing. */
  let reopening = Promise.resolve();
  let wakeUp = (): void => {};

  const release = (): void => {
    settings.close();
    lock.release();
  };

  /** The interrupted run may have no watcher. */
  const announceDoubt = ({ kind, runId, tool }: ApprovalCard): void => {
    if (kind === "resolve") remark(`${runId} was interrupted: was ${tool} done? Answer it: surety approvals ls`);
  };

  const keepLocked = (): void => {
    if (lock.isInPlace()) return;
    const next = lockHome(home.directory);
    lock.release();
    lock = next;
  };

  const open = async (): Promise<Surety> => {
    keepLocked();
    const failure: { seen: { readonly error: unknown } | null } = { seen: null };
    const surety = await openSurety({
      ...options,
      written: settings.current().config,
      config: applicable(settings.current().config, config),
      readVariable: settings.current().readVariable,
      settingsProblem: settings.problem,
      runConformance: async (asked) => (await import("./conformance-run.ts")).runConformance(asked),
      onReconfigured: settings.changed,
      lock,
      remark,
      events,
      approver: { ...apiApprover, ask: announceDoubt },
      onStoreFailure: (error) => {
        if (current === surety) fail(surety, error);
        else failure.seen ??= { error };
      },
    });
    try {
      await surety.delivery.start();
      const { resumed } = await surety.runtime.recover();
      await surety.schedule.start();
      const pending = await surety.runtime.approvals.pending({ limit: MAX_COUNTED, offset: 0 });
      const words = wordsForPending(resumed, pending.length);
      if (words !== "") remark(words);
      if (failure.seen !== null) throw failure.seen.error;
      surety.shadow.start();
      return surety;
    } catch (error) {
      await surety.close(0).catch(() => {});
      throw error;
    }
  };

  const fail = (failed: Surety, error: unknown): void => {
    current = null;
    if (isClosing) return;
    log("error", "store.unavailable", { code: error instanceof StoreError ? error.code : null });
    remark(`error store.unavailable: ${error instanceof Error ? error.message : "writes fail"}`);
    remark("Not accepting runs until the home can be reopened; retrying every second.");
    reopening = reopen(failed);
  };

  const reopen = async (failed: Surety): Promise<void> => {
    // Unflushed writes are lost; recovery reads the disk.
    await failed.close(0).catch(() => {});
    while (!isClosing) {
      await pause();
      if (isClosing) return;
      try {
        current = await open();
        log("info", "store.reopened", {});
        remark("The home is open again; accepting runs.");
        return;
      } catch {
        // Reported once already; retried until it works.
      }
    }
  };

  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const cancel = clock.wake(RETRY_MS, resolve);
      wakeUp = () => {
        cancel();
        resolve();
      };
    });

  const opened = (): Surety => {
    if (current === null) throw new StoreError("store.unavailable", "Storage is unavailable; retry.");
    return current;
  };

  current = await open().catch((error: unknown) => {
    release();
    throw error;
  });
  return {
    operations: {
      call: async (name, input, caller) => await opened().operations.call(name, input, caller),
      subscribe: async (name, input, after, signal, caller) =>
        await opened().operations.subscribe(name, input, after, signal, caller),
    },
    conversations: {
      receive: async (message, caller) => await opened().conversations.receive(message, caller),
      listen: async (listener, cursor) => await opened().conversations.listen(listener, cursor),
    },
    credentials: {
      findToken: (digest) => opened().access.findToken(digest),
      findBrowser: (digest) => opened().access.findBrowser(digest),
    },
    identity: current.signing,
    config: () => settings.current().config,
    isUp: () => current !== null,
    close: async () => {
      isClosing = true;
      wakeUp();
      await reopening;
      try {
        await current?.close(STOP_GRACE_MS);
      } finally {
        release();
      }
    },
  };
}

/** What an earlier gateway left unfinished; empty if nothing. */
function wordsForPending(runs: number, questions: number): string {
  const asks =
    questions === MAX_COUNTED
      ? `${MAX_COUNTED} or more questions wait`
      : questions === 1
        ? "1 question waits"
        : `${questions} questions wait`;
  const facts = [
    ...(runs === 0 ? [] : [runs === 1 ? "1 unfinished run continues" : `${runs} unfinished runs continue`]),
    ...(questions === 0 ? [] : [`${asks} for an answer: surety approvals ls`]),
  ];
  return facts.join("; ");
}
