/**
 * The outside ledger: an HTTP server of the harness that counts what tools really did.
 *
 * L1. An effect counts when its whole request has arrived, whether or not anybody lives to hear the answer.
 * L2. `settled` resolves when nothing is on its way any more: what a killed process had sent has been counted.
 * L3. An effect whose teller was gone before it was answered is a gap: its result cannot have become durable. From
 *     `orphan` to `settled` every teller is gone.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface Effect {
  readonly job: number;
  readonly n: number;
  readonly run: string;
  readonly key: string | null;
}

export interface EffectLedger {
  readonly url: string;
  /** Executions by `job/n`. */
  readonly opaque: ReadonlyMap<string, number>;
  /** Attempts by `job/n`; and the keys under which they were made, each of them one effect. */
  readonly keyed: ReadonlyMap<string, { readonly attempts: number; readonly keys: ReadonlySet<string> }>;
  readonly gaps: ReadonlySet<string>;
  readonly runsOf: ReadonlyMap<number, ReadonlySet<string>>;
  /** Executions of any kind. */
  readonly total: number;
  orphan(): void;
  /** Resolves when so many effects have been told. */
  reaches(total: number): Promise<void>;
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** The n-th effect is answered after so long; null: never. */
export async function openEffectLedger(delayMs: (effect: number) => number | null): Promise<EffectLedger> {
  const opaque = new Map<string, number>();
  const keyed = new Map<string, { attempts: number; keys: Set<string> }>();
  const gaps = new Set<string>();
  const runsOf = new Map<number, Set<string>>();
  const sockets = new Set<Socket>();
  const unanswered = new Set<string>();
  const awaited = new Map<number, () => void>();
  let isOrphaned = false;
  let total = 0;

  const count = (path: string, { job, n, run, key }: Effect): void => {
    const id = `${job}/${n}`;
    total += 1;
    awaited.get(total)?.();
    runsOf.set(job, (runsOf.get(job) ?? new Set()).add(run));
    if (path === "/opaque") opaque.set(id, (opaque.get(id) ?? 0) + 1);
    if (path !== "/keyed") return;
    const before = keyed.get(id) ?? { attempts: 0, keys: new Set<string>() };
    keyed.set(id, { attempts: before.attempts + 1, keys: before.keys.add(key ?? "none") });
  };

  const answerLater = (path: string, { job, n }: Effect, response: ServerResponse): void => {
    const id = `${job}/${n}`;
    const [isOpaque, delay] = [path === "/opaque", delayMs(total)];
    if (isOpaque && isOrphaned) gaps.add(id);
    if (isOpaque) unanswered.add(id);
    const timer = delay === null ? undefined : setTimeout(() => response.end("{}"), delay);
    response.once("close", () => {
      clearTimeout(timer);
      unanswered.delete(id);
      if (isOpaque && !response.writableEnded) gaps.add(id);
    });
  };

  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const effect = JSON.parse(Buffer.concat(parts).toString()) as Effect;
      count(incoming.url ?? "", effect);
      answerLater(incoming.url ?? "", effect, response);
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    opaque,
    keyed,
    gaps,
    runsOf,
    get total() {
      return total;
    },
    reaches: (count) => (total >= count ? Promise.resolve() : new Promise((resolve) => awaited.set(count, resolve))),
    orphan: () => {
      isOrphaned = true;
      for (const id of unanswered) gaps.add(id);
    },
    settled: async () => {
      for (const socket of sockets) {
        if (!socket.destroyed) await new Promise((resolve) => socket.once("close", resolve));
      }
      isOrphaned = false;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
