/** A page of another origin can neither open the socket nor read nor change anything, whether the browser is signed in or not. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { verifies } from "../requirements.ts";
import { openPage } from "./browser.ts";
import { openGateway } from "./real-gateway.ts";

const HOSTILE = "<!doctype html><title>hostile</title><p>A page of another site.</p>";

/** All that a page can try; what each attempt came to. */
function attack(page: Page, url: string): Promise<Readonly<Record<string, string>>> {
  return page.evaluate(async (target) => {
    const run = JSON.stringify({ agent_id: "main", message: "planted by another page" });
    const chat = JSON.stringify({ user_id: "operator", channel: "web", message: "planted by another page" });
    const ask = async (path: string, options: RequestInit): Promise<string> => {
      try {
        const answered = await fetch(`${target}${path}`, { credentials: "include", ...options });
        return `${answered.type} ${answered.status} ${await answered.text()}`;
      } catch {
        return "refused";
      }
    };
    const plain = { "content-type": "text/plain" };
    const dial = (protocols: string[]): Promise<string> =>
      new Promise((resolve) => {
        const socket = new WebSocket(target.replace("http", "ws"), protocols);
        socket.onopen = () => resolve("opened");
        socket.onerror = () => resolve("refused");
      });
    const listen = (): Promise<string> =>
      new Promise((resolve) => {
        const source = new EventSource(`${target}/api/feed`, { withCredentials: true });
        source.onopen = () => resolve("opened");
        source.onerror = () => {
          source.close();
          resolve("refused");
        };
      });
    const load = (name: "script" | "iframe" | "img"): Promise<string> =>
      new Promise((resolve) => {
        const element = document.createElement(name);
        element.onload = () => resolve(name === "iframe" ? textIn(element as HTMLIFrameElement) : "loaded");
        element.onerror = () => resolve("refused");
        element.src = `${target}/v1/runs`;
        document.body.append(element);
      });
    const textIn = (frame: HTMLIFrameElement): string => {
      try {
        return frame.contentDocument === null ? "refused" : "read";
      } catch {
        return "refused";
      }
    };
    return {
      read: await ask("/v1/runs", {}),
      "read without asking": await ask("/v1/runs", { mode: "no-cors" }),
      change: await ask("/v1/runs", { method: "POST", body: run, headers: { "content-type": "application/json" } }),
      "change without asking": await ask("/v1/runs", { method: "POST", body: run, mode: "no-cors", headers: plain }),
      "chat without asking": await ask("/v1/chat/messages", {
        method: "POST",
        body: chat,
        mode: "no-cors",
        headers: plain,
      }),
      "sign in": await ask("/api/login", { method: "POST", body: '{"code":"x"}', mode: "no-cors", headers: plain }),
      remove: await ask("/api/browser-sessions/none", { method: "DELETE" }),
      socket: await dial(["surety"]),
      "bare socket": await dial([]),
      feed: await listen(),
      script: await load("script"),
      picture: await load("img"),
      frame: await load("iframe"),
    };
  }, url);
}

const REFUSED = {
  ...{ read: "refused", change: "refused", remove: "refused", socket: "refused", "bare socket": "refused" },
  ...{ feed: "refused", script: "refused", picture: "refused", frame: "refused" },
  // The browser sent them and shows nothing of the answer; that nothing changed is looked up.
  "read without asking": "opaque 0 ",
  "change without asking": "opaque 0 ",
  "chat without asking": "opaque 0 ",
  "sign in": "opaque 0 ",
};

verifies("O-5.1", "a page of another origin can neither open the socket nor read nor change anything", async () => {
  const gateway = await openGateway();
  const server = createServer((_request, response) => response.setHeader("content-type", "text/html").end(HOSTILE));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const { page: own } = await openPage(gateway, "/chat");
  const { page: stranger } = await openPage(gateway, "/chat", { isSignedIn: false });
  for (const home of [own, stranger]) {
    const page = await home.context().newPage();
    // The first is of the same site, so the browser sends it the gateway's cookie, and the gateway what it asks.
    for (const origin of [`http://127.0.0.1:${port}`, `http://evil.test:${port}`]) {
      await page.goto(origin);
      expect([origin, await attack(page, gateway.url)]).toEqual([origin, REFUSED]);
    }
    const rebound = await page.goto(`http://rebound.test:${new URL(gateway.url).port}/v1/runs`);
    expect([rebound?.status(), await page.content()]).toEqual([403, expect.stringContaining("auth.forbidden")]);
    await page.close();
  }
  expect(await gateway.ask("GET", "/v1/runs")).toMatchObject({ total: 0 });
  expect(await gateway.ask("GET", "/api/sessions")).toMatchObject({ total: 0 });
  await own.reload();
  await own.getByRole("button", { name: "list files" }).waitFor();
});
