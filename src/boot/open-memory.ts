/**
 * The memory of an open home. Its code is loaded with the first memory: a home without any pays one look at the store, at its
 * first run. The embedding model is loaded where one is configured, and made again when what the config says of it changes.
 */
import { isDeepStrictEqual } from "node:util";
import type { EmbeddingIndex } from "../assistant/memory/embedding-index.ts";
import type { Memories } from "../assistant/memory/memories.ts";
import type { Redactor } from "../kernel/redaction/redact.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { LogFields } from "../runtime/ports/log.ts";
import type { MemoryAccess } from "../runtime/ports/memory.ts";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import { type Store, StoreError } from "../runtime/ports/store.ts";
import type { Settings } from "./settings.ts";

interface MemorySurroundings {
  readonly store: Store;
  /** For local models. */
  readonly homeDirectory: string;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly redactor: Pick<Redactor, "redactText">;
  /** The same object until they change. */
  readonly settings: () => Settings;
  readonly isBusy: () => boolean;
  readonly warn: (event: string, fields: LogFields) => void;
}

export type MemoryService = Pick<
  Memories,
  "add" | "addAll" | "remember" | "search" | "find" | "list" | "show" | "uses" | "forget" | "retrieve"
> & { close(): Promise<void> };

const FIRST_LOOK_MS = 5_000;

/** For tools, which are made with the settings that memory follows. */
export function memoryLater(memory: () => MemoryAccess): MemoryAccess {
  return {
    remember: (remembered) => memory().remember(remembered),
    search: (...asked) => memory().search(...asked),
  };
}

export function openMemory({ settings, isBusy, warn, ...parts }: MemorySurroundings): MemoryService {
  const { index, close } = openIndex({ settings, isBusy, warn, ...parts });
  // What came before the model was configured.
  if (settings().config.memory.embeddingModel !== undefined) parts.clock.wake(FIRST_LOOK_MS, index);
  let opening: Promise<Memories> | null = null;
  const open = (): Promise<Memories> => {
    opening ??= import("../assistant/memory/memories.ts").then(({ Memories }) => {
      return new Memories({ ...parts, limits: () => settings().config.memory, index });
    });
    return opening;
  };
  /** Once there is one, the store is asked no more. */
  let isKnown = false;
  return {
    add: async (...given) => (await open()).add(...given),
    addAll: async (...given) => (await open()).addAll(...given),
    remember: async (remembered) => (await open()).remember(remembered),
    search: async (...asked) => (await open()).search(...asked),
    find: async (...asked) => (await open()).find(...asked),
    list: async (...asked) => (await open()).list(...asked),
    show: async (id) => (await open()).show(id),
    uses: async (...asked) => (await open()).uses(...asked),
    forget: async (...asked) => (await open()).forget(...asked),
    retrieve: async (...asked) => {
      isKnown ||= await parts.store.hasMemories();
      return isKnown ? (await open()).retrieve(...asked) : null;
    },
    close,
  };
}

/** What decides about the embedding model; equal values mean the same one. */
function namedBy({ config, readVariable }: Settings): unknown {
  const { embeddingModel } = config.memory;
  return embeddingModel === undefined ? null : [embeddingModel, config.models.providers, readVariable];
}

function openIndex({ store, clock, homeDirectory, settings, isBusy, warn }: MemorySurroundings) {
  let seen: Settings | null = null;
  let current: { readonly by: unknown; readonly index: Promise<EmbeddingIndex | null> } | null = null;
  const make = async (now: Settings, before: Promise<EmbeddingIndex | null>): Promise<EmbeddingIndex | null> => {
    await (await before)?.close();
    const [{ configuredEmbedder }, { EmbeddingIndex }] = await Promise.all([
      import("./configured-embedder.ts"),
      import("../assistant/memory/embedding-index.ts"),
    ]);
    const model = now.config.memory.embeddingModel ?? "";
    const choice = configuredEmbedder(now, clock, homeDirectory);
    if (!choice.ok) {
      warn("memory.not_embedded", { model, message: choice.message });
      return null;
    }
    const { embedder } = choice;
    const onFailure = (error: unknown): void => warn("memory.not_embedded", { model, message: messageOf(error) });
    const index = new EmbeddingIndex({ store, clock, embedder, isBusy, onFailure });
    index.wake();
    return index;
  };
  return {
    index: (): Promise<EmbeddingIndex | null> => {
      const now = settings();
      if (now === seen && current !== null) return current.index;
      seen = now;
      const by = namedBy(now);
      if (by === null && current === null) return NONE;
      if (current === null || !isDeepStrictEqual(current.by, by)) {
        const before = current?.index ?? NONE;
        current = {
          by,
          index: by === null ? before.then((index) => index?.close()).then(() => null) : make(now, before),
        };
      }
      return current.index;
    },
    close: async (): Promise<void> => {
      await (await current?.index)?.close();
    },
  };
}

const NONE: Promise<null> = Promise.resolve(null);

/** Of our own errors; others may quote content. */
function messageOf(error: unknown): string {
  const isOurs = error instanceof StoreError || (error instanceof Error && error.message.startsWith("the "));
  return isOurs ? error.message : "The embedding model failed.";
}
