import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { expectAccessible, expectClean, openPage, PHONE, WIDE } from "./browser.ts";
import { openGateway, type RealGateway, shareGateway } from "./real-gateway.ts";
import { configFor, type Script, startScriptedModel } from "./scripted-model.ts";

/** Set by a test: the rest of the answer under way waits for it. */
let held = Promise.withResolvers<void>();
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LONG = Array.from({ length: 120 }, (_, at) => `Paragraph ${at} of the story.`).join("\n\n");

const answers: Script = (asked, results, times) => {
  if (asked.startsWith("story")) {
    const text = times > 1 ? `The other telling. ${LONG}` : `Once upon a time. ${LONG}`;
    return { text, pause: { events: 20, until: held.promise }, dialect: { pieceChars: 40 } };
  }
  if (asked.startsWith("list") && results === 0) {
    const calls = [".", "gone", "."].map((path) => ({ name: "fs.list_dir", arguments: { path } }));
    return { calls };
  }
  return { text: `You said **${asked}** [mem:14].` };
};

let model: Awaited<ReturnType<typeof startScriptedModel>> | null = null;
afterAll(() => model?.close());
const gatewayOf = shareGateway(async () => {
  model = await startScriptedModel(answers);
  return configFor(model);
});

async function newSession(gateway: RealGateway): Promise<string> {
  return (await gateway.ask<{ id: string }>("POST", "/api/sessions", { channel: "web" })).id;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.getByLabel("Message").press("Enter");
}

test("a newcomer asks, sees what was done for it, and what it cost", async () => {
  const gateway = await openGateway();
  const seen = await openPage(gateway, "/chat");
  const { page } = seen;
  await page.getByRole("button", { name: "list files" }).waitFor();
  await expectAccessible(seen);
  await page.getByRole("button", { name: "list files" }).click();
  await page.getByText("COMPLETED_WITH_TOOLS").waitFor();
  await page.getByText("Used fs.list_dir").click();
  await expectClean(seen);
  await expectAccessible(seen);
});

test("a first message that is refused and sent again begins one conversation, not two", async () => {
  const large = { contextWindow: 32_768, maxOutputTokens: 2_048 };
  const mine = { baseUrl: "http://127.0.0.1:9/v1", models: { large } };
  const gateway = await openGateway({ models: { default: "mine:large", providers: { mine } } });
  const { page } = await openPage(gateway, "/chat");
  await page.getByText("Nothing has been said here yet.").waitFor();
  await page.getByLabel("Message").fill("hello");
  for (let times = 0; times < 2; times += 1) {
    await page.locator("button[aria-label=Send]:not([aria-disabled])").waitFor();
    const refused = page.waitForResponse((answered) => answered.status() === 400);
    await page.getByLabel("Message").press("Enter");
    await refused;
    await page.getByText("No key for provider mine").waitFor();
  }
  expect(await page.getByLabel("Message").inputValue()).toBe("hello");
  expect((await gateway.ask<{ sessions: unknown[] }>("GET", "/api/sessions")).sessions).toHaveLength(1);
});

test("calls in a row fold into one line with what failed, and open to arguments and results", async () => {
  const gateway = await gatewayOf();
  const seen = await openPage(gateway, `/chat/${await newSession(gateway)}`);
  const { page } = seen;
  await say(page, "list it");
  await page.getByText("nobody retrieved this").waitFor();
  await page.getByText(/^Used 3 tools, 1 failed/).click();
  await page.locator("details details", { hasText: "gone" }).locator("summary").click();
  await page.getByText("path: gone").waitFor();
  await expectClean(seen);
});

test("an answer under way outlives a reload and a gateway that is killed: nothing lost, nothing false", async () => {
  held = Promise.withResolvers();
  const gateway = await gatewayOf();
  const { page } = await openPage(gateway, `/chat/${await newSession(gateway)}`);
  await say(page, "story");
  await page.getByText("Once upon a time.").waitFor();
  await say(page, "and then?");
  await page.getByText("queued", { exact: true }).waitFor();
  await page.getByText("Waits for the messages before it.").waitFor();

  await page.reload();
  await page.getByText("Once upon a time.").waitFor();
  expect(await page.getByText("Once upon a time.").count()).toBe(1);
  await page.getByText("queued", { exact: true }).waitFor();

  await gateway.kill();
  await page.getByText("Reconnecting").waitFor();
  await page.getByLabel("Message").fill("kept while away");
  expect(await page.getByRole("button", { name: "Send" }).getAttribute("aria-disabled")).toBe("true");
  held.resolve();
  await gateway.start();
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page.getByText("You said and then?").waitFor();
  await page.getByText("Once upon a time.").waitFor({ state: "detached" });
  expect(await page.getByLabel("Message").inputValue()).toBe("kept while away");
});

test("the end stays in sight while an answer grows, unless the reader went up; Stop ends it", async () => {
  held = Promise.withResolvers();
  const gateway = await gatewayOf();
  const { page } = await openPage(gateway, `/chat/${await newSession(gateway)}`);
  await say(page, "hello");
  await page.getByText("You said hello").waitFor();
  await say(page, "story two");
  await page.getByText("Paragraph 15").waitFor();
  expect(await page.getByText("Once upon a time.").isVisible()).toBe(true);
  const log = page.getByRole("log");
  expect(await log.evaluate((it) => it.scrollHeight - it.scrollTop - it.clientHeight)).toBeLessThan(48);
  await log.evaluate((it) => it.scrollTo(0, 0));
  await page.getByRole("button", { name: "New below" }).waitFor();
  held.resolve();
  await page.getByRole("button", { name: "To the end" }).waitFor();
  expect(await log.evaluate((it) => it.scrollTop)).toBe(0);
  await page.getByRole("button", { name: "To the end" }).click();
  await page.getByText("Paragraph 119").waitFor();

  held = Promise.withResolvers();
  await say(page, "story three");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.keyboard.press("Control+.");
  await page.getByText("It was stopped before it had an answer.").waitFor();
  held.resolve();
});

test("commands complete and are answered; a message is asked again and edited; conversations are found", async () => {
  const gateway = await gatewayOf();
  const id = await newSession(gateway);
  await gateway.ask("POST", `/api/sessions/${id}/rename`, { title: "Harbour ledger" });
  const seen = await openPage(gateway, `/chat/${id}`);
  const { page } = seen;
  await page.getByLabel("Message").pressSequentially("/sta");
  await page.getByRole("option", { name: /\/status/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.getByRole("status", { name: "Answer to /status" }).waitFor();
  await say(page, "first words");
  await page.getByText("You said first words").waitFor();
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.waitForFunction(() => document.body.textContent?.split("You said first words").length === 3);
  await page.getByRole("button", { name: "Edit and ask anew" }).first().click();
  expect(await page.getByLabel("Message").inputValue()).toBe("first words");
  await page.getByRole("button", { name: "New", exact: true }).click();
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.getByLabel("Search conversations").fill("harbour");
  await page.getByRole("link", { name: /Harbour ledger/ }).click();
  await page.getByText("You said first words").first().waitFor();
  await expectClean(seen);
});

test("an image is pasted, shown, taken away, dropped, and seen by the model", async () => {
  const gateway = await gatewayOf();
  const seen = await openPage(gateway, `/chat/${await newSession(gateway)}`);
  const { page } = seen;
  const give = (kind: "paste" | "drop", name: string): Promise<void> =>
    page.getByLabel("Message", { exact: true }).evaluate(
      (input, { given, png, file }) => {
        const data = new DataTransfer();
        const bytes = Uint8Array.from(atob(png), (character) => character.charCodeAt(0));
        data.items.add(new File([bytes], file, { type: "image/png" }));
        const options = { bubbles: true, cancelable: true };
        input.dispatchEvent(
          given === "paste"
            ? new ClipboardEvent("paste", { ...options, clipboardData: data })
            : new DragEvent("drop", { ...options, dataTransfer: data }),
        );
      },
      { given: kind, png: PNG, file: name },
    );
  await give("paste", "first.png");
  await page.getByText("first.png").waitFor();
  await page.getByRole("button", { name: "Remove this file" }).click();
  expect(await page.getByText("first.png").count()).toBe(0);
  await give("drop", "second.png");
  await page.locator("img[src^='/api/media/']").waitFor();
  await expectAccessible(seen);
  await say(page, "look");
  await page.getByText(/You said.*look/).waitFor();
  expect(await page.getByText("second.png").count()).toBe(0);
  const withImages = (): number | undefined =>
    model?.requests.filter(({ body }) => JSON.stringify(body.messages.at(-1)).includes(`data:image/png;base64,${PNG}`))
      .length;
  expect(withImages()).toBe(1);
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.waitForFunction(() => document.querySelectorAll("[title='Copy the answer']").length === 2);
  expect(withImages()).toBe(2);
  await page.getByRole("button", { name: "Edit and ask anew" }).first().click();
  expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("look");
  await page.getByText("The image of that message").waitFor();
  await say(page, "look closer");
  await page.waitForFunction(() => document.querySelectorAll("[title='Copy the answer']").length === 3);
  expect(withImages()).toBe(3);
  await page.getByText("The image of that message").waitFor({ state: "detached" });
  await expectClean(seen);
});

test("the chat is clean and accessible, wide and narrow, light and dark", async () => {
  const gateway = await gatewayOf();
  const id = await newSession(gateway);
  await gateway.ask("POST", `/api/sessions/${id}/send`, { text: "list it" });
  for (const theme of ["light", "dark"] as const) {
    for (const viewport of [WIDE, PHONE]) {
      const seen = await openPage(gateway, `/chat/${id}`, { theme, viewport });
      await seen.page.getByText(/^Used 3 tools/).click();
      await expectClean(seen);
      await expectAccessible(seen);
    }
  }
});
