/**
 * Sends lists and backups to the reader thread.
 *
 * R1. The thread starts with the first request.
 * R2. It keeps the process alive only while a request is open.
 */
import { Worker } from "node:worker_threads";
import { StoreError } from "../../runtime/ports/store.ts";
import { threadEnvironment } from "../../runtime/thread-environment.ts";
import type { ListArguments, ListName, ListResult } from "./list-reads.ts";
import { errorOf } from "./sqlite-failure.ts";
import { type ReaderReply, type ReaderRequest, workerFile } from "./thread-messages.ts";

interface PendingRequest {
  readonly answer: Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class ReaderThread {
  readonly #file: string;
  readonly #open = new Map<number, PendingRequest>();
  #worker: Worker | null = null;
  #requests = 0;

  constructor(file: string) {
    this.#file = file;
  }

  list<K extends ListName>(list: K, ...args: ListArguments<K>): Promise<ListResult<K>> {
    return this.#request((id) => ({ id, list, args }) as unknown as ReaderRequest) as Promise<ListResult<K>>;
  }

  async backup(toFile: string): Promise<void> {
    await this.#request((id) => ({ id, backupTo: toFile }));
  }

  /** Waits for the open requests. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].map(({ answer }) => answer));
    await this.#worker?.terminate();
  }

  #request(request: (id: number) => ReaderRequest): Promise<unknown> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#requests += 1;
    const id = this.#requests;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#open.set(id, { answer: promise, resolve, reject });
    worker.ref();
    worker.postMessage(request(id));
    return promise;
  }

  #start(): Worker {
    const worker = new Worker(workerFile("reader-worker"), {
      workerData: { file: this.#file },
      name: "store-reader",
      env: threadEnvironment(),
    });
    worker.on("message", (reply: ReaderReply) => this.#receive(worker, reply));
    worker.on("error", (error) => this.#fail(error));
    worker.on("exit", () => this.#fail(undefined));
    return worker;
  }

  #receive(worker: Worker, reply: ReaderReply): void {
    const pending = this.#open.get(reply.id);
    this.#open.delete(reply.id);
    if (this.#open.size === 0) worker.unref();
    if ("failure" in reply) pending?.reject(errorOf(reply.failure));
    else pending?.resolve(reply.value);
  }

  /** The next request starts another thread. */
  #fail(cause: unknown): void {
    this.#worker = null;
    const error = new StoreError("store.unavailable", "The store's reader thread ended unexpectedly. Try again.", {
      cause,
    });
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }
}
