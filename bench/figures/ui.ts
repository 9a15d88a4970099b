/**
 * The control UI in Chromium, over the gateway as people start it: the list of ten thousand runs and a session of 5,000 messages
 * while they are scrolled, and the entries of a long run verified in the page.
 *
 * Frames are told as p50, p95 and p99 of the time between two of them; the machine draws without a graphics card.
 */
import { type Browser, chromium, type Page } from "playwright-core";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { asSessionId, type SessionId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import { startGateway, tokenOf } from "../gateway-process.ts";
import { getOnce } from "../http-load.ts";
import type { Row } from "../row.ts";
import { configFor, makeHome, openScene, removeDirectory, temporaryDirectory } from "../scene.ts";

const CHROMIUM = "/usr/bin/chromium";
const AT_ONCE = 64;
const TASK = "read n001.txt";
/** Of a turn with one call. */
const ENTRIES_PER_TURN = 5;
const FRAMES = 240;
const PX_PER_FRAME = 400;

/** The page's. */
declare const requestAnimationFrame: (draw: (now: number) => void) => number;

export const controlUi: Figure = { name: "ui", measure };

interface Amounts {
  readonly runs: number;
  readonly messages: number;
  readonly entries: number;
}

async function measure({ isQuick, model }: BenchWorld): Promise<readonly Row[]> {
  const amounts: Amounts = isQuick
    ? { runs: 1_000, messages: 200, entries: 500 }
    : { runs: 10_000, messages: 5_000, entries: 2_000 };
  const directory = await temporaryDirectory();
  try {
    const session = await fill(directory, amounts, model.ready);
    const { child, url } = await startGateway(directory);
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
    try {
      const page = await signedIn(browser, await tokenOf(directory));
      return [
        ...(await runs(page, url, amounts)),
        ...(await messages(page, `${url}/chat/${session}`, amounts)),
        ...(await verification(page, url, await tokenOf(directory))),
      ];
    } finally {
      await browser.close();
      await child.stop();
    }
  } finally {
    await removeDirectory(directory);
  }
}

/** By the real runtime: the session's turns one after the other, the other runs beside them, then the long one. */
async function fill(directory: string, { runs, messages, entries }: Amounts, modelUrl: string): Promise<SessionId> {
  const short = await openScene(await makeHome(directory), DEFAULT_CONFIG);
  let left = runs - messages / 2;
  const alone = Array.from({ length: AT_ONCE }, async () => {
    while (left > 0) {
      left -= 1;
      await short.submit({ message: TASK });
    }
  });
  await short.submit({ message: "what can you do?" });
  const [first] = (await short.surety.store.listSessions({}, { limit: 1, offset: 0 })).sessions;
  const session = asSessionId(first?.sessionId ?? "");
  for (let turn = 1; turn < messages / 2; turn += 1) {
    await short.submit({ message: `what can you do, for the ${turn}th time?`, sessionId: session });
  }
  await Promise.all(alone);
  await short.close();
  const long = await openScene(await makeHome(directory), configFor(modelUrl));
  await long.run({ turns: entries / ENTRIES_PER_TURN, tool: "fs.write_text" });
  await long.close();
  return session;
}

async function signedIn(browser: Browser, token: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  await context.setExtraHTTPHeaders({ authorization: `Bearer ${token}` });
  return await context.newPage();
}

async function runs(page: Page, url: string, amounts: Amounts): Promise<readonly Row[]> {
  const firstMs = await msUntil(page, `${url}/runs`, "[data-at='0']");
  const name = `list of ${amounts.runs.toLocaleString("en")} runs`;
  return [plain(`${name}: first row`, firstMs), ...frameRows(name, await scroll(page, "[role=list]", PX_PER_FRAME))];
}

async function messages(page: Page, url: string, amounts: Amounts): Promise<readonly Row[]> {
  const firstMs = await msUntil(page, url, "[role=article]");
  const name = `session of ${amounts.messages.toLocaleString("en")} messages`;
  return [
    plain(`${name}: first message`, firstMs),
    ...frameRows(name, await scroll(page, "[role=log]", -PX_PER_FRAME)),
  ];
}

async function verification(page: Page, url: string, token: string): Promise<readonly Row[]> {
  const { body } = await getOnce(`${url}/v1/runs?limit=1`, { authorization: `Bearer ${token}` });
  const [{ id = "" } = {}] = (JSON.parse(String(body)) as { runs: { id: string }[] }).runs;
  const firstMs = await msUntil(page, `${url}/runs/${id}`, "text=/entries checked in/");
  const told: number[] = [];
  let entries = 0;
  for (let round = 0; round < 5; round += 1) {
    const words = await page.locator("text=/entries checked in/").textContent();
    const [, count = "", ms = ""] = /^(\d+) entries checked in (\d+) ms/.exec(words ?? "") ?? [];
    entries = Number(count);
    told.push(Number(ms));
    await page.keyboard.press("v");
    await page.locator("text=/entries checked in/").waitFor({ state: "detached" });
    await page.locator("text=/entries checked in/").waitFor();
  }
  const best = Math.min(...told);
  const name = `${entries.toLocaleString("en")} entries verified in the page`;
  return [
    { ...plain(name, best), bound: { is: "at most", must: 150 }, note: `of ${told.join(", ")} ms` },
    plain(`${name}: from the address to the seal`, firstMs),
  ];
}

async function msUntil(page: Page, address: string, selector: string): Promise<number> {
  const startedMs = performance.now();
  await page.goto(address);
  await page.locator(selector).first().waitFor();
  return Math.round(performance.now() - startedMs);
}

/** The time between frames, while the list moves in each. */
async function scroll(page: Page, selector: string, pxPerFrame: number): Promise<readonly number[]> {
  return await page
    .locator(selector)
    .first()
    .evaluate(
      (list, { frames, px }) =>
        new Promise<number[]>((resolve) => {
          const times: number[] = [];
          let before = 0;
          const frame = (now: number): void => {
            if (before > 0) times.push(now - before);
            before = now;
            list.scrollTop += px;
            if (times.length < frames) requestAnimationFrame(frame);
            else resolve(times);
          };
          requestAnimationFrame(frame);
        }),
      { frames: FRAMES, px: pxPerFrame },
    );
}

function frameRows(name: string, times: readonly number[]): readonly Row[] {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const note = `p95 ${at(0.95).toFixed(1)}, p99 ${at(0.99).toFixed(1)} ms, ${times.length} frames`;
  return [{ ...plain(`${name}: frames p50`, Math.round(at(0.5) * 10) / 10), note }];
}

const plain = (name: string, ms: number): Row => ({ name, value: ms, spread: 0, unit: "ms", bound: null, note: "" });
