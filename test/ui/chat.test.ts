import { test } from "vitest";
import { expectAccessible, expectClean, openPage } from "./browser.ts";
import { openGateway } from "./real-gateway.ts";

test("a newcomer asks, sees what was done for it, and what it cost", async () => {
  const gateway = await openGateway();
  const seen = await openPage(gateway, "/");
  const { page } = seen;
  await page.getByRole("button", { name: "list files" }).click();
  await page.getByText("COMPLETED_WITH_TOOLS").waitFor();
  await page.getByText("Used fs.list_dir").click();
  await expectClean(seen);
  await expectAccessible(seen);
});
