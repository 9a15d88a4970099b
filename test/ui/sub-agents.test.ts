/** A run's page shows the sub-agents it asked, inside its timeline, with entries that this page verifies. */
import { expect, vi } from "vitest";
import { verifies } from "../requirements.ts";
import { expectAccessible, expectClean, openPage, PHONE } from "./browser.ts";
import { shareGateway } from "./real-gateway.ts";

const shared = shareGateway();

verifies(
  "T-3b/results",
  "sub-agents stand in their parent's timeline: who, how it ended, what it cost, and its entries",
  async () => {
    const gateway = await shared();
    const message = "ask the research agent and the critic about sea otters";
    const { id } = await gateway.ask<{ id: string }>("POST", "/v1/runs", { agent_id: "main", message });
    await vi.waitFor(
      async () => {
        const { outcome } = await gateway.ask<{ outcome: string | null }>("GET", `/v1/runs/${id}`);
        expect(outcome).toBe("COMPLETED_WITH_TOOLS");
      },
      { timeout: 20_000, interval: 25 },
    );
    const seen = await openPage(gateway, `/runs/${id}`);
    const { page } = seen;
    const critic = page.getByRole("button", { name: /^Entries of critic-agent, run / });
    await critic.waitFor();
    await page.getByRole("button", { name: /^Entries of research-agent, run / }).waitFor();
    expect(await page.getByText(/^\d+ tokens$/).count()).toBe(2);
    await critic.click();
    const entries = page.getByRole("list", { name: /^Entries of run / });
    await entries.getByText("COMPLETED_CHAT_ONLY").waitFor();
    expect(await entries.getByRole("listitem").count()).toBe(5);
    await expectAccessible(seen);
    await page.setViewportSize(PHONE);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    await expectAccessible(seen);
    await expectClean(seen);
  },
);
