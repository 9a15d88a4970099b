/**
 * Where the threads' code lies: beside this module, under the same extension. From source that is `writer-worker.ts`;
 * in the bundle, `writer-worker.js` beside the chunk that this module became part of.
 */
export type WorkerName = "writer-worker" | "reader-worker";

export function workerFile(name: WorkerName): URL {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return new URL(`./${name}.${extension}`, import.meta.url);
}
