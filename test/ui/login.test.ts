/** From a login link to a browser that is signed in, and out again. */
import { expect, test } from "vitest";
import { expectAccessible, expectClean, openPage } from "./browser.ts";
import { openGateway } from "./real-gateway.ts";

test("a login link signs in once, by being opened; a reload stays in, and a second use says so in words", async () => {
  const gateway = await openGateway();
  const { path } = await gateway.ask<{ readonly path: string }>("POST", "/api/login-links", {});
  const seen = await openPage(gateway, path, { isSignedIn: false });
  const { page } = seen;
  await page.getByRole("button", { name: "list files" }).waitFor();
  expect(page.url()).not.toContain("#");
  await page.reload();
  await page.getByRole("button", { name: "list files" }).waitFor();
  const cookies = await page.context().cookies();
  expect(cookies).toMatchObject([{ httpOnly: true, sameSite: "Strict", path: "/" }]);
  expect(await page.evaluate(() => [document.cookie, JSON.stringify(localStorage)])).not.toContain(cookies[0]?.value);
  await expectClean(seen);

  const again = await openPage(gateway, path, { isSignedIn: false, theme: "dark" });
  await again.page.getByText("This login link was used or is too old").waitFor();
  expect(again.page.url()).toBe(`${gateway.url}/login`);
  await expectAccessible(again);
  const fresh = await gateway.ask<{ readonly path: string }>("POST", "/api/login-links", {});
  await again.page.getByLabel("Login link").fill(` ${gateway.url}${fresh.path}\n`);
  await again.page.getByRole("button", { name: "Sign in" }).click();
  await again.page.getByRole("button", { name: "list files" }).waitFor();
});
