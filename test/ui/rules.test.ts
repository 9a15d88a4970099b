/** Sessions, Capabilities, Tools and policy, as people use them. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { verifies } from "../requirements.ts";
import { expectClean, openPage } from "./browser.ts";
import { type RealGateway, shareGateway } from "./real-gateway.ts";

const shared = shareGateway();

interface Run {
  readonly id: string;
  readonly status: string;
  readonly session_id: string;
}

async function newSession(gateway: RealGateway, title: string): Promise<string> {
  return (await gateway.ask<{ id: string }>("POST", "/api/sessions", { channel: "web", title })).id;
}

async function sent(gateway: RealGateway, session: string, text: string, more: object = {}): Promise<Run> {
  const { id } = await gateway.ask<Run>("POST", `/api/sessions/${session}/send`, { text, ...more });
  for (;;) {
    const run = await gateway.ask<Run>("GET", `/v1/runs/${id}`);
    if (!["queued", "running"].includes(run.status)) return run;
  }
}

test("a session is found, renamed and exported with what was said in it", async () => {
  const gateway = await shared();
  const session = await newSession(gateway, "Harvest accounts");
  await newSession(gateway, "Something else");
  await sent(gateway, session, "list files");
  const seen = await openPage(gateway, "/sessions");
  const { page } = seen;
  await page.getByRole("link", { name: /Something else/ }).waitFor();
  await page.getByLabel("Search sessions").fill("harvest");
  await page.getByRole("link", { name: /Something else/ }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: /Harvest accounts/ }).click();
  await page.getByRole("heading", { name: "Harvest accounts", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByLabel("Title").fill("Harvest <b>2026</b>");
  await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
  await page.getByRole("heading", { name: "Harvest <b>2026</b>", level: 1 }).waitFor();
  await page.getByRole("link", { name: /Harvest <b>2026/ }).waitFor();

  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export JSON" }).click(),
  ]);
  const exported = JSON.parse(await readFile(await download.path(), "utf8"));
  expect(exported).toMatchObject({ id: session, title: "Harvest <b>2026</b>", checkpoint: { session_id: session } });
  expect(exported.messages.map(({ role }: { role: string }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
    "assistant",
  ]);
  await expectClean(seen);
});

verifies("S-2.4", "what a session asks for is granted for an hour, and revoked again, by a person", async () => {
  const gateway = await shared();
  const session = await newSession(gateway, "Reads a page");
  const run = await sent(gateway, session, "fetch https://example.org/post");
  const seen = await openPage(gateway, "/");
  const { page } = seen;
  await page.getByRole("heading", { level: 1, name: "One thing waits for you" }).waitFor();
  await page.getByRole("link", { name: "Grant or deny" }).click();
  await page.getByRole("link", { name: `run ${run.id.slice(-6)}` }).waitFor();
  await page.getByRole("button", { name: "Grant", exact: true }).click();
  await page.getByText("No session asks for anything.").waitFor();
  const held = `/api/capabilities?session_id=${session}`;
  expect(await gateway.ask("GET", held)).toMatchObject({
    granted: ["net:example.org"],
    pending: [],
    details: [{ by: "operator", expires_at: expect.any(String) }],
  });
  await page.getByRole("button", { name: /^Revoke net:example.org/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Nothing is granted").waitFor();
  expect(await gateway.ask("GET", held)).toMatchObject({ granted: [] });
  await expectClean(seen);
});

verifies("X-4", "a rule is put to the recorded runs before it is saved, and decides from then on", async () => {
  const gateway = await shared();
  const session = await newSession(gateway, "Writes a file");
  const asked = await sent(gateway, session, "write hello to a.txt", { unattended: true });
  const exception = JSON.stringify({ tool: "fs.write_text", decision: "allow" });
  const seen = await openPage(gateway, `/policy?${new URLSearchParams({ exception })}`);
  const { page } = seen;
  const save = page.getByRole("button", { name: "Save…" });
  expect(await page.getByLabel("Tool of exception 2").inputValue()).toBe("fs.write_text");
  expect(await save.getAttribute("title")).toBe("First see what it would change.");
  await page.getByRole("button", { name: "See what it would change" }).click();
  const effect = page.getByRole("status", { name: "What it would change" });
  await effect.getByRole("link", { name: asked.id.slice(-6) }).waitFor();
  await save.click();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  const cell = page.getByRole("button", { name: /^fs.write_text, This machine: runs/ });
  await cell.click();
  await page
    .getByRole("dialog")
    .getByText("exceptions.0")
    .or(page.getByRole("dialog").getByText(/exception/i))
    .first()
    .waitFor();
  await page.keyboard.press("Escape");
  expect((await sent(gateway, session, "write hello to b.txt", { unattended: true })).status).toBe("completed");
  await expectClean(seen);
});

test("a call is explained without being made, and with one press nothing changes anything any more", async () => {
  const gateway = await shared();
  const seen = await openPage(gateway, "/policy");
  const { page } = seen;
  await page.getByLabel("Tool", { exact: true }).selectOption("http.get");
  await page.getByLabel("Arguments").fill('{"url": "https://example.org/"');
  await page.getByText("This is not a JSON object.").waitFor();
  await page.getByLabel("Arguments").fill('{"url": "https://example.org/"}');
  await page.getByRole("button", { name: "Explain", exact: true }).click();
  await page.getByRole("status", { name: "Explanation" }).getByText("policy.capability").waitFor();

  await page.getByRole("button", { name: "Switch off…" }).click();
  await page.getByRole("dialog").getByText("tools.policy.sideEffects").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Side effects are switched off" }).waitFor();
  await page.getByRole("button", { name: /^fs.write_text, This machine: denied/ }).waitFor();
  await expectClean(seen);
});
