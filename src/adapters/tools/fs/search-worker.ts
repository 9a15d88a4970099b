/**
 * The worker thread's side of a search. Imported, it only exports its own URL, in the source or in the bundle; started
 * with a task, it searches and posts the answer.
 */
import { parentPort, workerData } from "node:worker_threads";
import type { ToolError } from "../../../kernel/vocabulary/tool-envelope.ts";
import { ToolFailure, toolErrorOf } from "../tool-failure.ts";
import { expectedFailure } from "./fs-failure.ts";
import type { SearchRequest, SearchResult } from "./search-tree.ts";

export const SEARCH_WORKER = new URL(import.meta.url);

export interface SearchTask {
  readonly suretySearch: SearchRequest;
}

export type SearchAnswer =
  | { readonly ok: true; readonly findings: SearchResult }
  | { readonly ok: false; readonly error: ToolError };

if (isTask(workerData)) parentPort?.postMessage(await answerTo(workerData.suretySearch));

function isTask(data: unknown): data is SearchTask {
  return typeof data === "object" && data !== null && "suretySearch" in data;
}

async function answerTo(request: SearchRequest): Promise<SearchAnswer> {
  const { searchTree } = await import("./search-tree.ts");
  try {
    return { ok: true, findings: searchTree(request) };
  } catch (error) {
    const failure = error instanceof ToolFailure ? error : expectedFailure(error, request.names.join("/") || ".");
    if (failure === null) throw error;
    return { ok: false, error: toolErrorOf(failure) };
  }
}
