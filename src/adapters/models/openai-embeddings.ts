/** An embedding model behind an OpenAI-compatible `POST /embeddings`. Errors name what happened, and quote nothing. */
import type { Clock } from "../../runtime/ports/clock.ts";
import type { Embedder } from "../../runtime/ports/embedder.ts";
import { type HttpOrigin, openOrigin } from "./http-exchange.ts";
import { entriesOf, fieldsOf, parseFields } from "./wire-fields.ts";

export interface EmbeddingServer {
  /** `provider:model`. */
  readonly ref: string;
  /** The provider's name for the model. */
  readonly model: string;
  readonly baseUrl: string;
  /** Null if the server needs none. */
  readonly apiKey: string | null;
  readonly clock: Clock;
}

export function openAiEmbedder({ ref, model, baseUrl, apiKey, clock }: EmbeddingServer): Embedder {
  const url = new URL(baseUrl);
  const origin = openOrigin(url.origin, clock);
  const path = `${url.pathname.replace(/\/+$/, "")}/embeddings`;
  const headers = [
    ...["content-type", "application/json"],
    ...(apiKey === null ? [] : ["authorization", `Bearer ${apiKey}`]),
  ];
  return {
    name: ref,
    embed: async (texts, signal) => {
      const body = JSON.stringify({ model, input: texts, encoding_format: "float" });
      const answer = await exchange(origin, { path, headers, body }, signal);
      return vectorsIn(answer, texts.length);
    },
  };
}

async function exchange(
  origin: HttpOrigin,
  request: { readonly path: string; readonly headers: readonly string[]; readonly body: string },
  signal: AbortSignal,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let status = 0;
  const listener = {
    onHead: (head: { readonly status: number }) => {
      status = head.status;
      return status === 200;
    },
    onBytes: (bytes: Uint8Array) => {
      // The library uses its buffer again.
      chunks.push(Uint8Array.from(bytes));
      return true;
    },
  };
  const end = await origin.exchange({ method: "POST", ...request }, listener, signal);
  if (status !== 200 && status !== 0) throw new Error(`the embedding model answered HTTP ${status}`);
  if (end !== "complete") throw new Error(`the request to the embedding model ended: ${end}`);
  return Buffer.concat(chunks).toString("utf8");
}

function vectorsIn(answer: string, count: number): readonly (readonly number[])[] {
  const entries = entriesOf(parseFields(answer)?.["data"]);
  const vectors = entries.map((entry) => fieldsOf(entry)?.["embedding"]);
  const isWhole = vectors.length === count && vectors.every(isVector);
  if (!isWhole) throw new Error("the embedding model answered with something else than one vector per text");
  return vectors as readonly (readonly number[])[];
}

function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => Number.isFinite(each));
}
