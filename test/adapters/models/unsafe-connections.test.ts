/** What a provider's connection can be besides up or down, and that each is told by its own name. */
import { readFile } from "node:fs/promises";
import { createServer as createPlain } from "node:http";
import { createServer as createSecure } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { configureModel } from "../../../src/adapters/models/configure-model.ts";
import { manualClock } from "./manual-clock.ts";

const TLS = join(import.meta.dirname, "../../fixtures/tls");
const REQUEST = { model: "m", messages: [], tools: [], toolChoice: "auto", maxOutputTokens: 64 } as const;

async function portOf(server: ReturnType<typeof createPlain>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

async function secure(): Promise<number> {
  const [key, cert] = await Promise.all(
    ["self-signed-key.pem", "self-signed.pem"].map((name) => readFile(join(TLS, name))),
  );
  return await portOf(createSecure({ key, cert }));
}

const plain = (): Promise<number> => portOf(createPlain());

test.each([
  ["a certificate that nobody vouches for", "https", secure, "provider.untrusted", "certificate that is not trusted"],
  ["https where http is spoken", "https", plain, "provider.no-tls", "which may have to begin with http"],
  ["http where https is spoken", "http", secure, "provider.connection-lost", "which may have to begin with https"],
])("%s", async (_, scheme, start, code, part) => {
  const model = configureModel({
    ...{ ref: "lab:m", kind: "openai_compatible", model: "m", baseUrl: `${scheme}://127.0.0.1:${await start()}/v1` },
    ...{ profile: "native-tools", contextWindow: 8_192, maxOutputTokens: 64, price: null, isFree: true, apiKey: null },
    clock: manualClock(),
  });
  const { signal } = new AbortController();
  expect(await model.backend.check(signal)).toEqual({ responsive: false, detail: expect.stringContaining(part) });
  expect(await model.backend.complete(REQUEST, { signal, onText: null })).toMatchObject({ ok: false, code });
});
