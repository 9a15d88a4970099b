/** The address that a killed gateway left behind: another program may listen there. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findAddress, takeHome } from "../../src/boot/gateway-access.ts";
import { openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryHome } from "./temporary-home.ts";

async function crashedHome() {
  const home = await temporaryHome();
  await openHome(home);
  await writeFile(join(home.directory, "gateway.url"), "http://127.0.0.1:19789\n", { mode: 0o600 });
  return home;
}

test("is withdrawn with the lock, before the home is open", async () => {
  const home = await crashedHome();
  const lock = takeHome(home);
  onTestFinished(() => lock.release());
  expect(await findAddress(home)).toBeNull();
});

test("is withdrawn by whoever opens the home, also when it cannot be opened", async () => {
  const home = await crashedHome();
  await writeFile(home.signingKeyFile, "not a key", { mode: 0o600 });
  await writeFile(home.database, "not a database", { mode: 0o600 });
  const opening = openSurety({
    ...{ home, config: readOk("{}"), readVariable: () => undefined, token: null, approver: noApprover },
    ...{ clock: systemClock, random: systemRandomness, onDefect: () => {} },
  });
  await expect(opening).rejects.toThrow();
  expect(await findAddress(home)).toBeNull();
  // The lock is free again.
  takeHome(home).release();
});

test("is not withdrawn by one that does not get the lock", async () => {
  const home = await crashedHome();
  const lock = takeHome(home);
  onTestFinished(() => lock.release());
  await writeFile(join(home.directory, "gateway.url"), "http://127.0.0.1:19789\n", { mode: 0o600 });
  expect(() => takeHome(home)).toThrow();
  expect(await findAddress(home)).toBe("http://127.0.0.1:19789");
});
