/**
 * The thread's end of a search. Imported, it only says where it lies, in the source or in the bundle; started as a
 * thread with a request, it searches and answers.
 */
import { parentPort, workerData } from "node:worker_threads";
import type { ToolError } from "../../../kernel/vocabulary/tool-envelope.ts";
import { ToolFailure, toolErrorOf } from "../tool-failure.ts";
import { expectedFailure } from "./fs-failure.ts";
import type { Findings, SearchRequest } from "./search-tree.ts";

export const SEARCH_WORKER = new URL(import.meta.url);

export interface SearchTask {
  readonly suretySearch: SearchRequest;
}

export type SearchAnswer =
  | { readonly ok: true; readonly findings: Findings }
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
