/**
 * One Chromium for all tests of the control UI, and pages that remember whatever went wrong in them.
 *
 * B1. A page is clean if nothing was written to its console, nothing was refused by its policy, every request went to the
 *     gateway, and nothing reaches sideways beyond the window.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, expect, onTestFinished } from "vitest";
import type { RealGateway } from "./real-gateway.ts";

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Other sites are on this machine too.
  "--host-resolver-rules=MAP *.test 127.0.0.1",
];
const EXECUTABLE = "/usr/bin/chromium";
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const WIDE = { width: 1280, height: 860 };
export const PHONE = { width: 360, height: 740 };

let launched: Promise<Browser> | null = null;
afterAll(async () => {
  const browser = await launched;
  launched = null;
  await browser?.close();
});

export interface SeenPage {
  readonly page: Page;
  /** What must not happen, in the order in which it happened. */
  readonly complaints: readonly string[];
}

interface OpenOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly theme?: "light" | "dark";
  /** False: a browser that is not signed in. */
  readonly isSignedIn?: boolean;
}

/** Opens a page of the control UI in a browser of its own kind: fresh storage, fresh cookies. */
export async function openPage(gateway: RealGateway, path: string, options: OpenOptions = {}): Promise<SeenPage> {
  const { viewport = WIDE, theme = "light", isSignedIn = true } = options;
  launched ??= chromium.launch({ executablePath: EXECUTABLE, args: ARGUMENTS });
  const described: BrowserContextOptions = { viewport, colorScheme: theme, reducedMotion: "reduce", locale: "en-GB" };
  const context = await (await launched).newContext(described);
  context.setDefaultTimeout(15_000);
  onTestFinished(() => context.close());
  if (isSignedIn) await signIn(gateway, context);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => complaints.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(gateway.url)) complaints.push(`request to ${request.url()}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  await page.goto(`${gateway.url}${path}`);
  return { page, complaints };
}

/** As the page of a login link does it. */
async function signIn(gateway: RealGateway, { request }: BrowserContext): Promise<void> {
  const { code } = await gateway.ask<{ readonly code: string }>("POST", "/api/login-links", {});
  const answered = await request.post(`${gateway.url}/api/login`, { data: { code } });
  expect(answered.status()).toBe(200);
}

export async function expectClean({ page, complaints }: SeenPage): Promise<void> {
  expect(complaints).toEqual([]);
  const beyond = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
  expect(beyond, "pixels that reach sideways beyond the window").toBeLessThanOrEqual(0);
}

/** No violations, and no contrast that axe could not judge. Runs outside the page's policy. */
export async function expectAccessible({ page }: SeenPage): Promise<void> {
  await showWhole(page);
  if (await page.evaluate(() => !("axe" in globalThis))) await page.evaluate(AXE);
  const { violations, incomplete } = await page.evaluate(async () => {
    const axe = (globalThis as unknown as { axe: { run(where: Document, how: object): Promise<AxeResults> } }).axe;
    return await axe.run(document, { resultTypes: ["violations", "incomplete"] });
  });
  const unclear = incomplete.filter(({ id }) => id === "color-contrast");
  expect([...violations, ...unclear].map(inWords)).toEqual([]);
}

/** Makes the window as high as what scrolls in it: axe cannot judge what the window's edge cuts through. */
async function showWhole(page: Page): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const hidden = await page.evaluate(() =>
      Math.max(0, ...[...document.querySelectorAll("main, main *")].map((it) => it.scrollHeight - it.clientHeight)),
    );
    const size = page.viewportSize();
    if (hidden < 8 || size === null) return;
    await page.setViewportSize({ width: size.width, height: Math.min(size.height + 2 * hidden, 6_000) });
  }
}

interface AxeRule {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

interface AxeResults {
  readonly violations: readonly AxeRule[];
  readonly incomplete: readonly AxeRule[];
}

function inWords({ id, help, nodes }: AxeRule): string {
  const where = nodes.slice(0, 3).map(({ html, failureSummary = "" }) => `${html.slice(0, 200)} ${failureSummary}`);
  return `${id}: ${help}\n${where.join("\n")}`;
}
