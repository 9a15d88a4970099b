/** Ghosts, as a person sees them: what was noticed, the plan of each action, and what became of it. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { verifies } from "../requirements.ts";
import { expectAccessible, expectClean, openPage, PHONE } from "./browser.ts";
import { openGateway } from "./real-gateway.ts";

const HOSTILE = "\u202Egnp.json";

verifies(
  ["T-5.2/message", "T-5.2/action", "T-5.2/states", "T-5.1/config"],
  "a ghost appears, is acted upon, and another is dismissed",
  async () => {
    const gateway = await openGateway();
    const workspace = join(gateway.home, "workspace");
    const seen = await openPage(gateway, "/ghosts");
    const { page } = seen;
    await page.getByText("Nothing is watched: the shadow loop is off.").waitFor();
    await gateway.ask("PATCH", "/api/config", { shadow: { enabled: true, cooldown: 0 } });
    await page.getByText("Nothing was noticed.").waitFor();
    // Until the watchers are there.
    const trigger = page.getByText("notes.json");
    for (let round = 0; (await trigger.count()) === 0; round += 1) {
      await writeFile(join(workspace, "notes.json"), `{"a": [1, 2,],}\n${" ".repeat(round)}`);
      await trigger.waitFor({ timeout: 2_000 }).catch(() => {});
    }
    await writeFile(join(workspace, HOSTILE), "{");
    await page.getByText("2 open").waitFor();
    await expectClean(seen);
    for (const look of [{ viewport: PHONE }, { theme: "dark" }] as const) {
      const other = await openPage(gateway, "/ghosts", look);
      await other.page.getByText("2 open").waitFor();
      await other.page.getByText("What the run would be asked").first().click();
      await expectClean(other);
      await expectAccessible(other);
    }
    const hostile = page.getByRole("listitem").filter({ hasText: "gnp.json" });
    expect(await hostile.textContent()).toContain("U+202E");
    await hostile.getByRole("button", { name: "Dismiss" }).click();
    await page.getByText("dismissed").waitFor();

    await page.getByText("What the run would be asked").click();
    await page.getByText('Overwrite notes.json with {"a": [1, 2]}').waitFor();
    await page.getByRole("button", { name: "Fix it" }).click();
    await page.getByText("Nothing was noticed.").waitFor();
    await page.getByRole("link", { name: /^run / }).click();
    await page.getByRole("heading", { level: 1, name: /Overwrite notes.json/ }).waitFor();
    const allow = page.getByRole("button", { name: "Allow once" });
    await allow.waitFor();
    await expect.poll(() => allow.getAttribute("aria-disabled"), { timeout: 10_000 }).not.toBe("true");
    await allow.click();
    await page.getByText("COMPLETED_WITH_TOOLS").first().waitFor();
    expect(JSON.parse(await readFile(join(workspace, "notes.json"), "utf8"))).toEqual({ a: [1, 2] });
    await expectClean(seen);
  },
);
