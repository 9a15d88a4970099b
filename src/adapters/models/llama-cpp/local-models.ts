/**
 * The local model in memory.
 *
 * T1. There is one at a time: a request for another unloads it first.
 * T2. Requests take turns, in the order they came; one that is cancelled leaves the queue at once.
 * T3. Without a request for `idleMs` the model is unloaded. The next request loads it again.
 * T4. A file that changed is loaded again.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../../../runtime/ports/clock.ts";
import { readGgufHeader } from "./gguf-header.ts";
import {
  type ChatWrapper,
  type EmbeddingContext,
  type GpuType,
  type Llama,
  type LlamaContext,
  type LlamaModel,
  type LlamaPackage,
  type LlamaSequence,
  loadPackage,
  PACKAGE_VERSION,
} from "./llama-package.ts";
import { LocalModelError } from "./local-model-error.ts";

export interface LocalModelSettings {
  readonly modelPath: string;
  /** Where node-llama-cpp is installed. */
  readonly packageDirectory: string;
  readonly contextWindow: number;
  /** Null: as many as llama.cpp finds useful. */
  readonly threads: number | null;
  readonly gpu: GpuType;
  readonly idleMs: number;
  readonly clock: Pick<Clock, "monotonicMs" | "wake">;
}

export interface LoadedModel {
  readonly llama: Llama;
  readonly parts: LlamaPackage;
  readonly model: LlamaModel;
  readonly wrapper: ChatWrapper;
  /** Names file and backend. */
  readonly fingerprint: string;
  /** By entry and text, since compiling one takes time. */
  readonly grammars: Map<string, object>;
  /** A context that holds as many tokens, at most the model's window. */
  sequenceFor(tokens: number): Promise<LlamaSequence>;
  embeddings(): Promise<EmbeddingContext>;
}

interface Held extends LoadedModel {
  readonly key: string;
  dispose(): Promise<void>;
}

/** Contexts grow in steps, so that a conversation does not make a new one for each message. */
const CONTEXT_STEP = 4_096;

export class LocalModels {
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;
  #held: Held | null = null;
  #llama: { readonly key: string; readonly llama: Promise<Llama> } | null = null;
  #cancelIdle = (): void => {};

  /** Null when the signal aborted before its turn. */
  async use<Result>(
    settings: LocalModelSettings,
    signal: AbortSignal,
    work: (model: LoadedModel) => Promise<Result>,
  ): Promise<Result | null> {
    if (!(await this.#turn(signal))) return null;
    try {
      this.#cancelIdle();
      return await work(await this.#load(settings));
    } finally {
      this.#cancelIdle = settings.clock.wake(settings.idleMs, () => {
        this.unload().catch(() => {});
      });
      this.#next();
    }
  }

  /** Frees the memory, in its turn. */
  async unload(): Promise<void> {
    await this.#turn(new AbortController().signal);
    try {
      await this.#drop();
    } finally {
      this.#next();
    }
  }

  async #turn(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (!this.#isBusy) {
      this.#isBusy = true;
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const take = (): void => resolve(true);
    const leave = (): void => {
      const at = this.#waiting.indexOf(take);
      if (at >= 0) this.#waiting.splice(at, 1);
      if (at >= 0) resolve(false);
    };
    this.#waiting.push(take);
    signal.addEventListener("abort", leave, { once: true });
    return await promise.finally(() => signal.removeEventListener("abort", leave));
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#isBusy = false;
    else next();
  }

  async #load(settings: LocalModelSettings): Promise<LoadedModel> {
    const { modelPath, threads, gpu, packageDirectory, contextWindow } = settings;
    const header = await readGgufHeader(modelPath);
    const { mtimeMs, ino } = await stat(modelPath);
    const key = JSON.stringify([modelPath, header.bytes, mtimeMs, ino, threads, gpu, contextWindow]);
    if (this.#held?.key === key) return this.#held;
    await this.#drop();
    checkMemory(settings, header.bytes);
    const parts = await loadPackage(packageDirectory);
    const llama = await this.#backend(parts, settings);
    const [hash, model] = await Promise.all([hashFile(modelPath), loadFile(llama, modelPath)]);
    const device = llama.gpu === false ? "cpu" : llama.gpu;
    const fingerprint = `gguf:${hash.slice(0, 32)} node-llama-cpp@${PACKAGE_VERSION} llama.cpp@${llama.llamaCppRelease.release} ${device}`;
    this.#held = new HeldModel(key, settings, { llama, parts, model, fingerprint });
    return this.#held;
  }

  async #backend(parts: LlamaPackage, { gpu, threads }: LocalModelSettings): Promise<Llama> {
    const key = JSON.stringify([gpu, threads]);
    if (this.#llama?.key !== key) {
      const options = {
        ...{ gpu, build: "never", progressLogs: false, skipDownload: true, logLevel: "error", logger: () => {} },
        ...(threads === null ? {} : { maxThreads: threads }),
      };
      this.#llama = { key, llama: parts.getLlama(options) };
    }
    return await this.#llama.llama.catch((error: unknown) => {
      this.#llama = null;
      throw new LocalModelError("model.load-failed", `llama.cpp does not start here: ${oneLine(error)}`);
    });
  }

  async #drop(): Promise<void> {
    const held = this.#held;
    this.#held = null;
    await held?.dispose();
  }
}

class HeldModel implements Held {
  readonly key: string;
  readonly llama: Llama;
  readonly parts: LlamaPackage;
  readonly model: LlamaModel;
  readonly wrapper: ChatWrapper;
  readonly fingerprint: string;
  readonly grammars = new Map<string, object>();
  readonly #settings: LocalModelSettings;
  #context: LlamaContext | null = null;
  #sequence: LlamaSequence | null = null;
  #embeddings: EmbeddingContext | null = null;

  constructor(
    key: string,
    settings: LocalModelSettings,
    { llama, parts, model, fingerprint }: Pick<LoadedModel, "llama" | "parts" | "model" | "fingerprint">,
  ) {
    this.key = key;
    this.llama = llama;
    this.parts = parts;
    this.model = model;
    this.fingerprint = fingerprint;
    this.wrapper = parts.resolveChatWrapper(model);
    this.#settings = settings;
  }

  async sequenceFor(tokens: number): Promise<LlamaSequence> {
    const { contextWindow, threads } = this.#settings;
    if (this.#context !== null && this.#sequence !== null && this.#context.contextSize >= tokens) return this.#sequence;
    await this.#context?.dispose();
    this.#context = null;
    const contextSize = Math.min(contextWindow, Math.ceil(tokens / CONTEXT_STEP) * CONTEXT_STEP);
    const options = {
      ...{ contextSize, sequences: 1, failedCreationRemedy: false },
      ...(threads === null ? {} : { threads }),
    };
    this.#context = await this.model.createContext(options).catch((error: unknown) => {
      const message = `A context of ${contextSize} tokens does not fit: lower contextWindow (${oneLine(error)}).`;
      throw new LocalModelError("model.too-large", message);
    });
    this.#sequence = this.#context.getSequence();
    return this.#sequence;
  }

  async embeddings(): Promise<EmbeddingContext> {
    const { threads, contextWindow } = this.#settings;
    const options = { contextSize: contextWindow, batchSize: contextWindow, ...(threads === null ? {} : { threads }) };
    this.#embeddings ??= await this.model.createEmbeddingContext(options);
    return this.#embeddings;
  }

  async dispose(): Promise<void> {
    await this.#embeddings?.dispose();
    await this.#context?.dispose();
    await this.model.dispose();
  }
}

function loadFile(llama: Llama, modelPath: string): Promise<LlamaModel> {
  return llama.loadModel({ modelPath, checkTensors: true }).catch((error: unknown) => {
    throw new LocalModelError("model.load-failed", `llama.cpp cannot load ${modelPath}: ${oneLine(error)}`);
  });
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest("hex");
}

const GIB = 1 << 30;

function checkMemory({ modelPath }: LocalModelSettings, bytes: number): void {
  const free = process.availableMemory();
  if (bytes <= free) return;
  const gib = (count: number): string => (count / GIB).toFixed(1);
  const message = `The model file ${modelPath} needs ${gib(bytes)} GiB of memory, and ${gib(free)} GiB are free: use a smaller model or a stronger quantisation.`;
  throw new LocalModelError("model.too-large", message);
}

function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s+/g, " ").trim().slice(0, 300);
}
