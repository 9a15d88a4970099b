/** What a model, a page or a file may send to be shown does nothing but show itself (the brief's corpus of hostile content). */
import { readFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { expectClean, openPage, PHONE, type SeenPage } from "./browser.ts";
import { type RealGateway, shareGateway } from "./real-gateway.ts";
import { configFor, startScriptedModel } from "./scripted-model.ts";

const CORPUS: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL("hostile-corpus.json", import.meta.url), "utf8"),
);
const LARGE: Readonly<Record<string, string>> = {
  quotes: `${">".repeat(20_000)} deep`,
  brackets: "[".repeat(100_000) + "](".repeat(50_000),
  emphasis: "*a_b".repeat(50_000),
  table: `|${"a|".repeat(500)}\n|${"-|".repeat(500)}\n${"|x".repeat(90_000)}`,
};
const NAMES = Object.keys(CORPUS);

let model: Awaited<ReturnType<typeof startScriptedModel>> | null = null;
afterAll(() => model?.close());
const gatewayOf = shareGateway(async () => {
  model = await startScriptedModel((asked, results) => {
    const [word = "", name = ""] = asked.split(" ");
    if (word === "write" && results === 0) {
      const text = Object.values(CORPUS).join("\n");
      return { calls: [{ name: "fs.write_text", arguments: { path: "safe.txt", text } }] };
    }
    return { text: CORPUS[name] ?? LARGE[name] ?? "done", dialect: { pieceChars: 4_000 } };
  });
  return configFor(model);
});

async function sessionWith(gateway: RealGateway, ...texts: readonly string[]): Promise<string> {
  const { id } = await gateway.ask<{ id: string }>("POST", "/api/sessions", { channel: "web" });
  for (const text of texts) await gateway.ask("POST", `/api/sessions/${id}/send`, { text });
  return id;
}

/** Elements that only hostile content would have brought in, and links that lead elsewhere than the web. */
async function strangersIn({ page }: SeenPage): Promise<readonly string[]> {
  return await page.evaluate(() => {
    const made = document.querySelectorAll(
      "main :is(img, iframe, object, embed, script, style, form:not(:has(textarea)), input, video, audio, base, meta, link, svg:not([aria-hidden])):not(form:has(textarea) *)",
    );
    const links = [...document.querySelectorAll<HTMLAnchorElement>("main [role=log] a")].filter(
      ({ href, target, rel }) =>
        !href.startsWith(location.origin) &&
        !(/^(?:https?|mailto):/.test(href) && target === "_blank" && rel === "noopener noreferrer"),
    );
    return [...made, ...links].map(({ outerHTML }) => outerHTML.slice(0, 200));
  });
}

/** Every hidden character in the document, by its code point. */
async function hiddenIn({ page }: SeenPage): Promise<readonly string[]> {
  return await page.evaluate(() => {
    const hidden = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;
    return [...(document.body.textContent ?? "").matchAll(hidden)].map(([it]) => it.codePointAt(0)?.toString(16) ?? "");
  });
}

test("in answers", async () => {
  const gateway = await gatewayOf();
  const id = await sessionWith(gateway, ...NAMES.map((name) => `say ${name}`));
  const seen = await openPage(gateway, `/chat/${id}`, { viewport: { width: 1280, height: 6_000 } });
  const { page } = seen;
  await page
    .getByText("COMPLETED_CHAT_ONLY")
    .nth(NAMES.length - 1)
    .waitFor();
  expect(await strangersIn(seen)).toEqual([]);
  expect(await hiddenIn(seen)).toEqual([]);
  for (const mark of ["U+202E", "U+200B", "U+E0041"]) await page.getByText(mark).first().waitFor();
  await page.getByText("[image not loaded: evil.test]").first().waitFor();
  // What looks like a card is none: it has no button, and nothing waits.
  expect(await page.getByRole("button", { name: "Allow once" }).count()).toBe(0);
  expect(await page.getByRole("article", { name: /\?$/ }).count()).toBe(0);
  const imitation = page.locator("p", { hasText: "◉ verified here" });
  await imitation.waitFor();
  expect(await imitation.locator("svg").count()).toBe(0);
  // Nothing reaches beyond its row.
  const outside = await page.evaluate(
    () =>
      [...document.querySelectorAll("[role=log] [role=article]")].flatMap((row) => {
        const frame = row.getBoundingClientRect();
        return [...row.querySelectorAll("*")].filter((it) => {
          if (it.closest("pre, [aria-label=Table]") !== null) return false;
          const { left, right } = it.getBoundingClientRect();
          return left < frame.left - 1 || right > frame.right + 1;
        });
      }).length,
  );
  expect(outside).toBe(0);
  expect(new URL(page.url()).pathname).toBe(`/chat/${id}`);
  expect(await page.title()).toMatch(/^(\(\d+\) )?Chat – Surety$/);
  await expectClean(seen);
});

test("in messages, on a phone", async () => {
  const gateway = await gatewayOf();
  const id = await sessionWith(gateway, Object.values(CORPUS).join("\n"));
  const seen = await openPage(gateway, `/chat/${id}`, { viewport: PHONE });
  await seen.page.getByText("COMPLETED_CHAT_ONLY").waitFor();
  expect(await strangersIn(seen)).toEqual([]);
  expect(await hiddenIn(seen)).toEqual([]);
  await expectClean(seen);
});

test("in a plan that waits for approval", async () => {
  const gateway = await gatewayOf();
  const seen = await openPage(gateway, `/chat/${await sessionWith(gateway, "write it")}`);
  const { page } = seen;
  const card = page.getByRole("article", { name: "Write safe.txt?" });
  await card.waitFor();
  expect(await card.getByRole("button", { name: "Allow once" }).count()).toBe(1);
  await card.getByText("U+202E").first().waitFor();
  expect(await strangersIn(seen)).toEqual([]);
  expect(await hiddenIn(seen)).toEqual([]);
  await expectClean(seen);
  await card.getByRole("button", { name: "Deny" }).click();
  await card.waitFor({ state: "detached" });
});

test("200 kB of it, nested as deep as it goes, is shown as plain text and the page goes on", async () => {
  const gateway = await gatewayOf();
  for (const name of Object.keys(LARGE)) {
    const seen = await openPage(gateway, `/chat/${await sessionWith(gateway, `say ${name}`)}`);
    await seen.page.getByText("COMPLETED_CHAT_ONLY").waitFor();
    await seen.page.getByLabel("Message").fill("still here");
    expect(await strangersIn(seen)).toEqual([]);
    await expectClean(seen);
  }
});
