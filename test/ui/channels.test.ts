/** Settings, channels: who may write from outside, and what became of an answer that nobody confirmed. */
import { createHmac } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, vi } from "vitest";
import { verifies } from "../requirements.ts";
import { expectClean, openPage } from "./browser.ts";
import { openGateway, type RealGateway } from "./real-gateway.ts";

const KEY = Buffer.alloc(32, 7);

verifies(
  "X-23",
  "a new sender waits with a code until it is accepted; an answer in doubt is settled by a person",
  async () => {
    let receive = (response: ServerResponse): void => {
      response.end();
    };
    const url = await startReceiver((response) => receive(response));
    vi.stubEnv("CRM_SECRET", `whsec_${KEY.toString("base64")}`);
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const gateway = await openGateway({ channels: { crm: { kind: "webhook", secretEnv: "CRM_SECRET", url } } });
    await hook(gateway, "hello");
    const seen = await openPage(gateway, "/settings/channels");
    const { page } = seen;
    await page.getByText("crm:anna", { exact: true }).first().waitFor();
    expect(await gateway.ask("GET", "/v1/runs")).toMatchObject({ runs: [] });
    await page.getByRole("button", { name: "Accept" }).click();
    await page.getByText(/^accepted/).waitFor();

    receive = (response) => response.destroy();
    await hook(gateway, "list files");
    await page.getByText("Did this message arrive at crm:anna?").waitFor();
    await page.getByRole("button", { name: "It arrived" }).click();
    await page.getByText("Did this message arrive at crm:anna?").waitFor({ state: "detached" });
    expect(await gateway.ask("GET", "/api/outbox?state=ambiguous")).toEqual({ messages: [] });

    await page.getByRole("button", { name: "Take back" }).click();
    await page.getByText(/^denied/).waitFor();
    await expectClean(seen);
  },
);

async function startReceiver(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once("end", () => answer(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`;
}

/** A message of Anna, signed as Standard Webhooks say. */
async function hook({ url }: RealGateway, text: string): Promise<void> {
  const [id, timestamp] = [`msg_${text.length}`, String(Math.floor(Date.now() / 1000))];
  const body = JSON.stringify({ senderId: "anna", senderName: "Anna", text });
  const signature = createHmac("sha256", KEY).update(`${id}.${timestamp}.${body}`).digest("base64");
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
  const answered = await fetch(`${url}/hooks/crm`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body,
  });
  expect(answered.status).toBe(200);
}
