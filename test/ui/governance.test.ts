/** The page Governance: a real gateway whose model needs a mutation, and a person who looks and decides. */
import { expect, test, vi } from "vitest";
import { answer, type ServerScript, startOpenAiServer } from "../loopback/openai-server.ts";
import { expectAccessible, expectClean, openPage, PHONE, WIDE } from "./browser.ts";
import { openGateway, type RealGateway, shareGateway } from "./real-gateway.ts";

/** A limit in dollars leaves an answer 6,250 tokens; the model needs 8,000 to write its call. */
const MODEL = { contextWindow: 100_000, maxOutputTokens: 20_000, costPer1kInput: 0.001, costPer1kOutput: 0.01 };
const needsRoom: ServerScript = ({ body: { messages, max_tokens = 0 } }) => {
  if (messages.some(({ role }) => role === "tool")) return answer({ text: "There are no files." });
  const isCut = max_tokens < 8_000 && messages.at(-1)?.["content"] === "list files";
  return answer({ calls: [{ name: "fs.list_dir", arguments: {} }], ...(isCut ? { finishReason: "length" } : {}) });
};
const shared = shareGateway(async () => {
  const { baseUrl } = await startOpenAiServer(needsRoom);
  return {
    models: { default: "loop:m", providers: { loop: { baseUrl, local: true, models: { m: MODEL } } } },
    budgets: { perDayUsd: 1 },
    governance: { enabled: true, warmupRuns: 6, windowRuns: 4, freezeRuns: 5 },
  };
});

interface Shown {
  readonly tiers: readonly {
    readonly tier: string;
    readonly runs: number;
    readonly state: { readonly verbosity_bias: number };
  }[];
}
const midOf = async (gateway: RealGateway) => {
  const { tiers } = await gateway.ask<Shown>("GET", "/api/governance");
  return tiers.find(({ tier }) => tier === "mid");
};

/** So many runs, one after the other, and what follows from them. */
async function work(gateway: RealGateway, runs: number): Promise<void> {
  const before = (await midOf(gateway))?.runs ?? 0;
  for (let run = 0; run < runs; run += 1) {
    const { id } = await gateway.ask<{ id: string }>("POST", "/v1/runs", { agent_id: "main", message: "list files" });
    await vi.waitFor(async () => {
      const { outcome } = await gateway.ask<{ outcome: string | null }>("GET", `/v1/runs/${id}`);
      if (outcome === null) throw new Error("still at work");
    }, 20_000);
  }
  await vi.waitFor(async () => expect((await midOf(gateway))?.runs).toBe(before + runs), 20_000);
}

test("what was measured, changed and kept is seen, with the run behind a point; a person freezes and rolls back", async () => {
  const gateway = await shared();
  await work(gateway, 6);
  const seen = await openPage(gateway, "/governance");
  const { page } = seen;
  await page.getByText("on trial").first().waitFor();
  for (const name of [
    "Protocol compliance",
    "Retries",
    "Budget left",
    "Duplicate calls",
    "Anomalies ignored",
    "Hard failures",
  ]) {
    await page.getByRole("img", { name: new RegExp(`^${name} of the last 6 runs`) }).waitFor();
  }
  await page.getByText("On trial, because answers were cut off at their limit.").waitFor();
  // The feed brings what follows.
  await work(gateway, 4);
  await page.getByText("retry count got better.").waitFor();
  await page.getByRole("img", { name: "1, between -2 and 3" }).waitFor();
  await page.getByText("Run 10 of 10").waitFor();

  await page.getByRole("slider").focus();
  await page.keyboard.press("Home");
  await page.getByText("Run 1 of 10").waitFor();
  await page.getByText(/: answers were cut off at their limit, answers were malformed/).waitFor();
  await page.getByText("As a table").click();
  expect(await page.getByRole("table", { name: "Ended runs" }).getByRole("row").count()).toBe(11);

  await page.getByRole("button", { name: "Freeze…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Freeze" }).click();
  await page.getByText("frozen for 5 more runs").waitFor();
  await page.getByRole("button", { name: "Thaw" }).click();
  await page.getByText("10 runs are measured. Nothing is on trial.").waitFor();
  await page.getByRole("button", { name: "Roll back…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("img", { name: "0, between -2 and 3" }).waitFor();
  expect((await midOf(gateway))?.state.verbosity_bias).toBe(0);
  await expectClean(seen);
  for (const theme of ["light", "dark"] as const) {
    for (const viewport of [WIDE, PHONE]) {
      const shown = await openPage(gateway, "/governance", { theme, viewport });
      await shown.page.getByText("retry count got better.").waitFor();
      await shown.page.getByText("As a table").click();
      await expectAccessible(shown);
      await expectClean(shown);
    }
  }

  await page.getByRole("slider").focus();
  await page.keyboard.press("Home");
  const [first] = (await gateway.ask<{ runs: readonly { id: string }[] }>("GET", "/v1/runs?limit=1&offset=9")).runs;
  await page
    .getByRole("link", { name: first?.id.slice(-6) ?? "" })
    .first()
    .click();
  await page.waitForURL(`${gateway.url}/runs/${first?.id}`);
});

test("where it is off the page says so, and turns it on after a look at the change", async () => {
  const gateway = await openGateway();
  const seen = await openPage(gateway, "/governance");
  const { page } = seen;
  await page.getByText(/^Governance is off/).waitFor();
  await expectAccessible(seen);
  await page.getByRole("button", { name: "Turn it on…" }).click();
  await page.getByRole("dialog").getByText("governance.enabled").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  await page.getByText("Warming up: 0 of 32 runs are measured; nothing is moved before.").waitFor();
  await expectClean(seen);
});
