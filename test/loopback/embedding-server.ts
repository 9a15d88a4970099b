/**
 * An OpenAI-compatible embedding server on loopback: deterministic, and honest about meaning in a small way. Each word is a
 * direction, words of one meaning (`MEANINGS`) share theirs, and what has digits in it means nothing, as for many real models.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hashBytes } from "../../src/kernel/vocabulary/hash.ts";

export const MEANINGS: readonly (readonly string[])[] = [
  ["car", "automobile", "vehicle"],
  ["doctor", "physician", "medic"],
  ["house", "home", "residence"],
  ["job", "occupation", "employment"],
  ["boss", "manager", "supervisor"],
  ["holiday", "vacation", "getaway"],
  ["child", "kid", "youngster"],
  ["illness", "disease", "ailment"],
  ["money", "cash", "funds"],
  ["letter", "mail", "correspondence"],
  ["dinner", "supper", "meal"],
  ["shop", "store", "boutique"],
  ["film", "movie", "picture"],
  ["garden", "yard", "lawn"],
  ["road", "street", "avenue"],
  ["friend", "buddy", "companion"],
  ["gift", "present", "donation"],
  ["flat", "apartment", "condo"],
  ["bike", "bicycle", "cycle"],
  ["sofa", "couch", "settee"],
];
const DIMENSIONS = 64;

export interface EmbeddingServer {
  readonly baseUrl: string;
  /** How many texts were embedded. */
  readonly embedded: number;
  /** Answers with this status instead; 200: as usual. */
  status: number;
  close(): Promise<void>;
}

function embeddingOf(text: string): readonly number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0);
  for (const word of text.toLowerCase().match(/\p{L}+\p{N}*|\p{N}+/gu) ?? []) {
    if (/\p{N}/u.test(word)) continue;
    const meaning = MEANINGS.findIndex((words) => words.includes(word));
    const bytes = Buffer.from(hashBytes(meaning === -1 ? word : `meaning ${meaning}`), "hex");
    // A meaning weighs more than a word that is in every sentence.
    const weight = meaning === -1 ? 0.3 : 1;
    for (let at = 0; at < DIMENSIONS; at += 1) {
      vector[at] = (vector[at] ?? 0) + weight * (((bytes[at % bytes.length] ?? 0) ^ (at * 37)) / 128 - 1);
    }
  }
  return vector;
}

export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  let embedded = 0;
  const state = { status: 200 };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const isAsked = request.method === "POST" && request.url === "/v1/embeddings";
      const status = isAsked ? state.status : 404;
      response.writeHead(status, { "content-type": "application/json" });
      if (status !== 200) {
        response.end('{"error":{"message":"no"}}');
        return;
      }
      const { input, model } = JSON.parse(body) as { readonly input: readonly string[]; readonly model: string };
      embedded += input.length;
      const data = input.map((text, index) => ({ object: "embedding", index, embedding: embeddingOf(text) }));
      response.end(JSON.stringify({ object: "list", data, model, usage: { prompt_tokens: 0, total_tokens: 0 } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    get embedded() {
      return embedded;
    },
    get status() {
      return state.status;
    },
    set status(status) {
      state.status = status;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
