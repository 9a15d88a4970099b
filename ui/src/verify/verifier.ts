/** The page's side of the verifier: one worker, made with the first question, under the content policy's one policy. */

import type { Asked, Reply, Told } from "./verifier-worker.ts";
import workerUrl from "./verifier-worker.ts?worker&url";

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
}

interface ScriptPolicies {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

const waiting = new Map<number, Waiting>();
let worker: Worker | null = null;
let lastId = 0;

export function askVerifier<Kind extends Asked["type"]>(
  asked: Extract<Asked, { readonly type: Kind }>,
): Promise<Told[Kind]> {
  worker ??= startWorker();
  lastId += 1;
  const id = lastId;
  worker.postMessage({ id, asked });
  return new Promise<Told[Kind]>((resolve, reject) => {
    waiting.set(id, { resolve, reject });
  });
}

function startWorker(): Worker {
  const started = new Worker(trusted(workerUrl), { type: "module" });
  started.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
    const asker = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.ok) asker?.resolve(data.value as never);
    else asker?.reject(new Error(data.message));
  });
  started.addEventListener("error", () => {
    for (const { reject } of waiting.values()) reject(new Error("The verifier could not be started."));
    waiting.clear();
    worker = null;
  });
  return started;
}

/** Browsers without Trusted Types take the address as it is. */
function trusted(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: ScriptPolicies };
  if (trustedTypes === undefined) return url;
  policy ??= trustedTypes.createPolicy("surety-worker", { createScriptURL: (asked) => asked });
  return policy.createScriptURL(url);
}

let policy: ReturnType<ScriptPolicies["createPolicy"]> | null = null;
