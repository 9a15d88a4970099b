/** Models and spend, and Settings: changing the home from the browser. */
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { expectAccessible, expectClean, openPage, PHONE, type SeenPage, WIDE } from "./browser.ts";
import { shareGateway } from "./real-gateway.ts";

const shared = shareGateway(() => ({ models: { providers: {} } }));

verifies(
  "P-1.2",
  "a setting with a mistake is marked in its field; corrected, it is saved after its difference was seen",
  async () => {
    const gateway = await shared();
    const seen = await openPage(gateway, "/settings");
    const { page } = seen;
    await page.getByLabel("Find a setting").fill("gateway.queue");
    await page.getByLabel("queue.max", { exact: false }).fill("0");
    await page.getByLabel("Find a setting").fill("");
    await page.getByRole("button", { name: "Review and save…" }).click();
    const field = page.getByLabel(/^queue\.max/);
    await page.getByText("must be a whole number from 1 to 1000000").waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    await field.fill("500");
    await page.getByRole("button", { name: "Review and save…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("gateway.queue.max").waitFor();
    expect([await dialog.locator("del").textContent(), await dialog.locator("ins").textContent()]).toEqual([
      "1000",
      "500",
    ]);
    expect(await readFile(join(gateway.home, "surety.json5"), "utf8")).not.toContain("500");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByText("not saved").waitFor({ state: "detached" });
    expect(await gateway.ask("GET", "/api/config")).toMatchObject({ gateway: { queue: { max: 500 } } });
    await expectClean(seen);
  },
);

test("a change that another tab has overtaken is not saved over it, and says so", async () => {
  const gateway = await shared();
  const { page } = await openPage(gateway, "/settings");
  await page.getByLabel("Find a setting").fill("approvals.timeoutS");
  await page.getByLabel(/^timeoutS/).fill("120");
  await page.getByRole("button", { name: "Review and save…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("approvals.timeoutS").waitFor();
  await gateway.ask("PATCH", "/api/config", { approvals: { timeoutS: 240 } });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("The config has changed since it was read", { exact: false }).waitFor();
  expect(await gateway.ask("GET", "/api/config")).toMatchObject({ approvals: { timeoutS: 240 } });
  await dialog.getByRole("button", { name: "Look at it again" }).click();
  await expect.poll(() => dialog.locator("del").textContent()).toBe("240");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  expect(await gateway.ask("GET", "/api/config")).toMatchObject({ approvals: { timeoutS: 120 } });
});

verifies(
  "P-1.3",
  "from the demonstration to a real model: the line to add, the check, and an answer, without a restart",
  async () => {
    const gateway = await shared();
    const key = "sk-loopback-3f1c9a7e5b2d4860";
    const model = await startOpenAiServer(() => answer({ text: "A real model says hello." }));
    onTestFinished(() => model.close());
    const seen = await openPage(gateway, "/models");
    const { page } = seen;
    await page.getByText("The built-in demonstration answers now.").waitFor();
    await page.getByLabel("Provider", { exact: true }).selectOption("other");
    await page.getByLabel("Name of the provider").fill("mine");
    await page.getByLabel("Address").fill(model.baseUrl);
    await page.getByLabel("Model", { exact: true }).fill("large");
    await page.getByRole("button", { name: "Connect…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("MINE_API_KEY=", { exact: false }).first().waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByText("MINE_API_KEY is missing").waitFor();
    await appendFile(join(gateway.home, ".env"), `MINE_API_KEY=${key}\n`);
    await page.getByText("MINE_API_KEY is set").waitFor();
    await page.getByRole("button", { name: "Check mine:large" }).click();
    await page.getByText("Fine:").waitFor();
    expect(model.checks[0]?.authorization).toBe(`Bearer ${key}`);
    expect(await page.content()).not.toContain(key);
    await expectClean(seen);

    const run = await gateway.ask<{ id: string }>("POST", "/v1/runs", { agent_id: "main", message: "hello" });
    await page.goto(`${gateway.url}/models`);
    await expect
      .poll(() => gateway.ask("GET", `/v1/runs/${run.id}`), { timeout: 10_000 })
      .toMatchObject({ provider: "mine", model: "large", output: "A real model says hello." });
    // Nobody said what it costs, which is not that it costs nothing.
    await page.getByRole("row", { name: /^mine:large \S+ price unknown$/ }).waitFor();
  },
);

test("a model runs the conformance corpus when it is asked to, and the matrix says what came of each case", async () => {
  const gateway = await shared();
  const seen = await openPage(gateway, "/models");
  const { page } = seen;
  await page.getByRole("button", { name: "Run it with builtin:demo" }).click();
  await page.getByRole("table", { name: "Conformance by case and model" }).waitFor();
  const { reports } = await gateway.ask<{ reports: { cases: { name: string }[] }[] }>("GET", "/api/models/conformance");
  const cases = reports[0]?.cases ?? [];
  expect(await page.getByRole("table", { name: "Conformance by case and model" }).getByText("passed").count()).toBe(
    cases.length,
  );
  await expectClean(seen);
});

const PLACES: readonly (readonly [path: string, text: string])[] = [
  ["/sessions", "New session"],
  ["/capabilities", "Nothing is granted"],
  ["/policy", "What happens to a call"],
  ["/models", "Connect a model"],
  ["/settings", "Review and save…"],
  ["/settings/secrets", "Set a secret"],
  ["/settings/access", "Make a token"],
  ["/settings/channels", "No message has gone to a channel."],
  ["/settings/health", "This gateway"],
];
const VIEWS = [
  ["light", WIDE],
  ["dark", WIDE],
  ["light", PHONE],
  ["dark", PHONE],
] as const;

test.each(VIEWS)("every page of rules and settings is clean and accessible, %s at %o", async (theme, viewport) => {
  const gateway = await shared();
  const first = await openPage(gateway, "/sessions", { theme, viewport });
  for (const [path, text] of PLACES) {
    await goWithin(first, path);
    await first.page.getByRole("main").getByText(text).first().waitFor();
    await expectClean(first);
    await expectAccessible(first);
  }
});

/** As a link of the page would, without loading it again. */
async function goWithin({ page }: SeenPage, path: string): Promise<void> {
  await page.evaluate((to) => {
    history.pushState(null, "", to);
  }, path);
}

verifies("O-6.2", "a secret is set and replaced by name, its value never comes back, and it is removed", async () => {
  const gateway = await shared();
  const seen = await openPage(gateway, "/settings/secrets");
  const { page } = seen;
  const answers: string[] = [];
  page.on("response", async (response) => {
    if (response.url().includes("/api/")) answers.push(await response.text().catch(() => ""));
  });
  const value = "kx-91f2c7d0a4b8e6-value";
  await page.getByLabel("Name", { exact: true }).fill("CRM_KEY");
  await page.getByLabel("Value").fill(value);
  await page.getByRole("button", { name: "Set it" }).click();
  await page.getByRole("cell", { name: "CRM_KEY", exact: true }).waitFor();
  expect(await page.getByLabel("Value").inputValue()).toBe("");
  expect(await page.content()).not.toContain(value);
  await page.reload();
  await page.getByRole("cell", { name: "CRM_KEY", exact: true }).waitFor();
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(value);
  await page.getByRole("button", { name: "Remove CRM_KEY" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("There is no secret yet.").waitFor();
  expect(answers.join("\n")).not.toContain(value);
  expect(await gateway.ask("GET", "/api/admin/secrets")).toEqual({ secrets: [] });
  await expectClean(seen);
});

test("a token is shown once, lets a program in, and is removed; another browser is sent away, and this one logs out", async () => {
  const gateway = await shared();
  const other = await openPage(gateway, "/sessions");
  const seen = await openPage(gateway, "/settings/access");
  const { page } = seen;
  await page.getByLabel("Name", { exact: true }).fill("backup script");
  await page.getByRole("button", { name: "Make a token" }).click();
  const dialog = page.getByRole("dialog");
  const token = (await dialog.getByTestId("copied").textContent()) ?? "";
  const comesIn = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${gateway.url}/api/sessions`, { headers })).status;
  };
  expect(await comesIn()).toBe(200);
  await dialog.getByRole("button", { name: "I have it" }).click();
  await page.getByRole("cell", { name: "backup script", exact: true }).waitFor();
  expect(await page.content()).not.toContain(token);
  await page.getByRole("button", { name: "Remove backup script" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("cell", { name: "backup script", exact: true }).waitFor({ state: "detached" });
  expect(await comesIn()).toBe(401);

  await page.getByText("this one").waitFor();
  await page
    .getByRole("button", { name: /^End the session of/ })
    .first()
    .click();
  await dialog.getByRole("button", { name: "End it" }).click();
  await other.page.getByRole("heading", { name: /not signed in/ }).waitFor();
  await expectClean(seen);
  await page.getByRole("button", { name: "Log out here" }).click();
  await page.getByRole("heading", { name: /not signed in/ }).waitFor();
});
