/**
 * Runs a search in a worker thread that can be stopped at any time. A regular expression, in the pattern or in a
 * .gitignore, can take forever, and no rule detects that without refusing good ones. Ending the thread stops it in the
 * middle of a match and closes its files.
 */
import { addAbortListener } from "node:events";
import { Worker } from "node:worker_threads";
import { Defect } from "../../../kernel/vocabulary/defect.ts";
import { ToolFailure } from "../tool-failure.ts";
import { errnoOf } from "./fs-failure.ts";
import type { SearchRequest, SearchResult } from "./search-tree.ts";
import type { SearchAnswer, SearchTask } from "./search-worker.ts";

const MAX_MEMORY_MB = 128;

export async function searchInThread(request: SearchRequest, signal: AbortSignal): Promise<SearchResult> {
  const { SEARCH_WORKER } = await import("./search-worker.ts");
  signal.throwIfAborted();
  const task: SearchTask = { suretySearch: request };
  const worker = new Worker(SEARCH_WORKER, {
    workerData: task,
    name: "fs-search",
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  });
  const { promise, resolve, reject } = Promise.withResolvers<SearchAnswer>();
  using _listening = addAbortListener(signal, () => reject(signal.reason));
  worker.on("message", resolve);
  worker.on("error", (error) => reject(threadFailure(error)));
  worker.on("exit", () => reject(new Defect("a search ended without an answer")));
  try {
    const answer = await promise;
    if (answer.ok) return answer.findings;
    const { code, message, ...options } = answer.error;
    throw new ToolFailure(code, message, { details: {}, retryable: options.retryable });
  } finally {
    await worker.terminate();
  }
}

function threadFailure(error: unknown): unknown {
  if (errnoOf(error) !== "ERR_WORKER_OUT_OF_MEMORY") return error;
  return new ToolFailure("internal.error", "The search needed too much memory: use a narrower pattern or path.");
}
