/**
 * The store's end of the reader thread.
 *
 * R1. The thread starts with the first question: a gateway that is asked for no list has none.
 * R2. It keeps the process alive only while a question is open.
 */
import { Worker } from "node:worker_threads";
import { StoreError } from "../../runtime/ports/store.ts";
import type { ListArguments, ListName, ListResult } from "./list-reads.ts";
import type { ReaderReply, ReaderRequest } from "./reader-messages.ts";
import { errorOf } from "./thread-failure.ts";
import { workerFile } from "./worker-file.ts";

interface Question {
  readonly answer: Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class ReaderThread {
  readonly #file: string;
  readonly #open = new Map<number, Question>();
  #worker: Worker | null = null;
  #asked = 0;

  constructor(file: string) {
    this.#file = file;
  }

  list<K extends ListName>(list: K, ...args: ListArguments<K>): Promise<ListResult<K>> {
    return this.#ask((id) => ({ id, list, args }) as unknown as ReaderRequest) as Promise<ListResult<K>>;
  }

  async backup(toFile: string): Promise<void> {
    await this.#ask((id) => ({ id, backupTo: toFile }));
  }

  /** What was asked before is still answered. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].map(({ answer }) => answer));
    await this.#worker?.terminate();
  }

  #ask(request: (id: number) => ReaderRequest): Promise<unknown> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#asked += 1;
    const id = this.#asked;
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
      env: {},
    });
    worker.on("message", (reply: ReaderReply) => this.#hear(worker, reply));
    worker.on("error", (error) => this.#lose(error));
    worker.on("exit", () => this.#lose(undefined));
    return worker;
  }

  #hear(worker: Worker, reply: ReaderReply): void {
    const question = this.#open.get(reply.id);
    this.#open.delete(reply.id);
    if (this.#open.size === 0) worker.unref();
    if ("failure" in reply) question?.reject(errorOf(reply.failure));
    else question?.resolve(reply.value);
  }

  /** The next question starts another thread. */
  #lose(cause: unknown): void {
    this.#worker = null;
    const error = new StoreError("store.unavailable", "The store's reader is gone. Try again.", { cause });
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }
}
