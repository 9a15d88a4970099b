/** The page Schedule: a real gateway, its jobs, and a person who looks, pauses and runs by hand. */
import { expect, test } from "vitest";
import { expectAccessible, expectClean, openPage, PHONE } from "./browser.ts";
import { shareGateway } from "./real-gateway.ts";

const shared = shareGateway();
const JOBS = "/api/admin/scheduler/jobs";

test("a job is added, seen, run by hand, paused and removed; its slots say what became of them", async () => {
  const gateway = await shared();
  await gateway.ask("POST", JOBS, {
    id: "past",
    agent_id: "main",
    schedule: "2001-01-01T00:00:00Z",
    message: "list files",
  });
  await gateway.ask("POST", JOBS, { id: "empty", schedule: "2001-01-01T00:00:00Z" });
  const seen = await openPage(gateway, "/schedule");
  const { page } = seen;
  await page.getByRole("cell", { name: "skipped" }).waitFor();
  await page.getByRole("cell", { name: "it has no agent" }).waitFor();
  await page.getByRole("cell", { name: "ran", exact: true }).waitFor();
  await page.getByLabel("Message").fill("list files in .");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const line = page.getByRole("listitem").filter({ hasText: "list files in ." });
  await line.getByText("@every 1h").waitFor();
  await line.getByRole("button", { name: /^Run now: job_/ }).click();
  await line.getByRole("link", { name: /^run/ }).waitFor();
  await line.getByRole("button", { name: /^Pause/ }).click();
  await line.getByText("paused").waitFor();
  await page.getByRole("button", { name: "Pause all" }).click();
  await page.getByText("all paused").waitFor();
  expect(await gateway.ask("GET", JOBS)).toMatchObject({ paused: true });
  await page.getByRole("button", { name: "Resume all" }).click();
  await page.getByText("all paused").waitFor({ state: "detached" });
  await page.getByLabel("When").fill("0 9 * * *");
  await page.getByLabel("Message").fill("x");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("cron expressions are not supported", { exact: false }).waitFor();
  await line.getByRole("button", { name: /^Remove/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await line.waitFor({ state: "detached" });
  await expectAccessible(seen);
});

test("the page fits a phone", async () => {
  const gateway = await shared();
  const seen = await openPage(gateway, "/schedule", { viewport: PHONE });
  await seen.page.getByRole("heading", { name: "Schedule" }).waitFor();
  await expectClean(seen);
});
