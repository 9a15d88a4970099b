/** Memory in the browser, with the built-in model: told, cited, opened from its citation, forgotten. */
import { expect, test } from "vitest";
import { citedTitle } from "../requirements.ts";
import { expectAccessible, expectClean, openPage, PHONE } from "./browser.ts";
import { openGateway } from "./real-gateway.ts";

test(
  citedTitle(
    ["S-5.2/links", "S-5.2/recognised"],
    "a citation in chat opens the memory, which says who cited it; forgotten, only its id is left",
  ),
  async () => {
    const gateway = await openGateway();
    const { id } = await gateway.ask<{ id: string }>("POST", "/api/memory", { text: "the boiler code is 4471" });
    const seen = await openPage(gateway, "/chat");
    const { page } = seen;
    await page.getByText("Nothing has been said here yet.").waitFor();
    await page.getByLabel("Message").fill("what do you remember about the boiler?");
    await page.getByLabel("Message").press("Enter");
    await page.getByText("COMPLETED_CHAT_ONLY").waitFor();
    await page.getByRole("link", { name: "Memory 1" }).click();
    await page.getByText("the boiler code is 4471").waitFor();
    await page.getByText("cites it").waitFor();
    await expectAccessible(seen);
    await page.setViewportSize(PHONE);
    await page.getByRole("button", { name: "Forget…" }).click();
    await page.getByText("Chains stay valid.", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Forget", exact: true }).click();
    await page.getByText(/^Forgotten/).waitFor();
    await expectClean(seen);
    expect(await gateway.ask("GET", `/api/memory/${id}`)).toMatchObject({ text: null, tags: [] });
  },
);
