/** The lists and the page of runs: verified in the browser, true to the record, live, and reachable by keys. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, test, vi } from "vitest";
import { verifies } from "../requirements.ts";
import { expectAccessible, expectClean, openPage, PHONE, WIDE } from "./browser.ts";
import { openGateway, type RealGateway, shareGateway } from "./real-gateway.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));
const shared = shareGateway();

interface RunRecord {
  readonly id: string;
  readonly status: string;
  readonly outcome: string | null;
}

async function begin(gateway: RealGateway, message: string): Promise<string> {
  const { id } = await gateway.ask<RunRecord>("POST", "/v1/runs", { agent_id: "main", message });
  return id;
}

const reaching = (gateway: RealGateway, id: string, wanted: (run: RunRecord) => boolean) =>
  vi.waitFor(
    async () => {
      const run = await gateway.ask<RunRecord>("GET", `/v1/runs/${id}`);
      if (!wanted(run)) throw new Error(`it is ${run.status}`);
    },
    { timeout: 20_000, interval: 25 },
  );

async function finished(gateway: RealGateway, message: string): Promise<string> {
  const id = await begin(gateway, message);
  await reaching(gateway, id, ({ outcome }) => outcome !== null);
  return id;
}

/** Asks for an approval, and waits for it. */
async function waiting(gateway: RealGateway, message: string): Promise<string> {
  const id = await begin(gateway, message);
  await reaching(gateway, id, ({ status }) => status === "waiting_approval");
  return id;
}

const verified = (page: Page) => page.getByText(/^(\d+) of \1 entries verified here$/);

async function answerYes(page: Page): Promise<void> {
  const allow = page.getByRole("button", { name: "Allow once" });
  await vi.waitFor(async () => expect(await allow.getAttribute("aria-disabled")).toBeNull(), { timeout: 10_000 });
  await allow.click();
}

verifies(
  "M-D",
  "a run goes from its approval to its end on its page, over a reload, and ends verified there",
  async () => {
    const gateway = await shared();
    const id = await waiting(gateway, "write hello to live.txt");
    const seen = await openPage(gateway, `/runs/${id}`);
    const { page } = seen;
    await page.getByRole("heading", { level: 1, name: "write hello to live.txt" }).waitFor();
    await page.getByText("2 of 2 entries verified here").waitFor();
    expect(await page.locator("[aria-current=step]").textContent()).toBe("VALIDATE_CALLS");
    await page.reload();
    await page.getByText("2 of 2 entries verified here").waitFor();
    await answerYes(page);
    await page.getByText("COMPLETED_WITH_TOOLS").first().waitFor();
    await verified(page).waitFor();
    await page.getByText("Its receipt is signed with this home's key.").waitFor();
    expect(await page.locator("[aria-current=step]").textContent()).toBe("TERMINATE");
    // What waited for a person is a gap in the timeline, not a bar.
    await page.getByText(/allows fs\.write_text \(allowed by /).waitFor();
    await expectClean(seen);
  },
);

test("an entry opens by keys and shows what was decided, its texts and its hashes; v verifies again", async () => {
  const gateway = await shared();
  const id = await finished(gateway, "list files");
  const seen = await openPage(gateway, `/runs/${id}`);
  const { page } = seen;
  await verified(page).waitFor();
  // The last turn called nothing, so it drew nothing as executed.
  expect(await page.getByRole("list", { name: "States of turn 2" }).getByRole("listitem").allTextContents()).toEqual([
    ...["PRECHECK", "INFER", "VALIDATE_CALLS", "EXECUTE left out", "OBSERVE left out", "COMMIT", "TERMINATE"],
  ]);
  for (let entry = 0; entry < 4; entry += 1) await page.keyboard.press("j");
  await page.waitForFunction(() => document.activeElement?.textContent?.includes("EXECUTE"));
  await page.keyboard.press("Enter");
  await page.getByText("Decided").waitFor();
  await page.getByRole("heading", { name: "Hashes" }).waitFor();
  await page.getByText('{"path":"."}').waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("Decided").waitFor({ state: "detached" });
  await page.keyboard.press("v");
  await page.getByText("Verifying again, from the first entry.").waitFor();
  await verified(page).waitFor();
  await expectClean(seen);
});

verifies("X-4", "a run replays on its page, and another policy says what it would decide otherwise", async () => {
  const gateway = await shared();
  const id = await finished(gateway, "list files");
  const seen = await openPage(gateway, `/runs/${id}`);
  const { page } = seen;
  await page.getByRole("button", { name: "Replay" }).click();
  await page.getByText(/Replayed from its entries, with no network: the same outcome, COMPLETED_WITH_TOOLS/).waitFor();
  await page.getByRole("button", { name: "What if…" }).click();
  const policy = page.getByLabel("tools.policy");
  await policy.fill("{ not json");
  await page.getByRole("button", { name: "Ask of this run" }).click();
  await page.getByText(/This is not JSON/).waitFor();
  await policy.fill(JSON.stringify({ risk: { read_only: "deny" } }));
  await page.getByRole("button", { name: "Ask of this run" }).click();
  await page.getByText("1 of 1 call would be decided otherwise.").waitFor();
  await page.getByRole("button", { name: "Ask of all runs" }).click();
  await page.getByText(/All \d+ recorded runs, \d+ calls: \d+ would be decided otherwise/).waitFor();
  await expectClean(seen);
});

verifies("X-3", "the file that a run's page exports passes surety verify", async () => {
  const gateway = await shared();
  const id = await finished(gateway, "what can you do?");
  const { page } = await openPage(gateway, `/runs/${id}`);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export" }).click(),
  ]);
  const file = join(gateway.home, "exported.json");
  await download.saveAs(file);
  const { status, stdout } = spawnSync(process.execPath, [ENTRY, "verify", file, "--home", gateway.home], {
    encoding: "utf8",
  });
  expect([status, stdout]).toEqual([0, expect.stringContaining(id)]);
});

verifies(
  "X-3",
  "what was changed behind the gateway's back is named in the page: entry, text, end and state",
  async () => {
    const gateway = await openGateway();
    const [changed, cut, text, state, whole] = [
      await finished(gateway, "list files"),
      await finished(gateway, "list files"),
      await finished(gateway, "list files"),
      await finished(gateway, "list files"),
      await finished(gateway, "list files"),
    ];
    await gateway.kill();
    const database = new DatabaseSync(join(gateway.home, "surety.db"));
    const rowsOf = (id: string) =>
      database.prepare(ROWS_OF).all(id) as unknown as { position: number; lines: string }[];
    const rewrite = database.prepare("UPDATE appends SET lines = ? WHERE position = ?");
    for (const { position, lines } of rowsOf(changed)) {
      rewrite.run(lines.replace(/("kind":"OBSERVE".*?"output_bytes":)\d+/, "$199"), position);
    }
    database.prepare("DELETE FROM appends WHERE position = ?").run(rowsOf(cut).at(-1)?.position ?? 0);
    database
      .prepare(
        "UPDATE bodies SET text = 'delete files' WHERE session = (SELECT session FROM run_states WHERE run = (SELECT position FROM runs WHERE id = ?)) AND text = 'list files'",
      )
      .run(text);
    database
      .prepare("UPDATE run_states SET state_digest = zeroblob(32) WHERE run = (SELECT position FROM runs WHERE id = ?)")
      .run(state);
    database.close();
    await gateway.start();

    const { page } = await openPage(gateway, "/");
    await page.getByText("4 runs are bad").waitFor();
    const shown = async (id: string, words: RegExp): Promise<void> => {
      await page.goto(`${gateway.url}/runs/${id}`);
      await page.getByRole("alert").getByText(words).waitFor();
      expect(await verified(page).count()).toBe(0);
    };
    await shown(changed, /^Entry 5 is not as it was written: /);
    await page.getByText("first bad entry").waitFor();
    await shown(cut, /^Entry \d+ is not as it was written: the entry is missing/);
    await shown(text, /^Entry 1 is not as it was written: a text it names was changed/);
    await shown(state, /^At entry 10 the gateway claims another state than its entries lead to/);
    await page.getByRole("button", { name: "Export this run" }).waitFor();
    await page.goto(`${gateway.url}/runs/${whole}`);
    await verified(page).waitFor();
  },
);

const ROWS_OF = `
  SELECT a.position, a.lines FROM appends a JOIN runs r ON a.place > r.position * 4194304 AND a.place < (r.position + 1) * 4194304
  WHERE r.id = ? ORDER BY a.place`;

test("runs are searched and filtered by the address, and going back shows the list before", async () => {
  const gateway = await shared();
  await finished(gateway, "what is a marmalade cat?");
  const denied = await waiting(gateway, "write hello to filtered.txt");
  const seen = await openPage(gateway, "/runs");
  const { page } = seen;
  const rows = page.getByRole("listitem");
  await page.getByLabel("Search messages and ids").fill("MARMALADE");
  await page.getByText("1 run that fits").waitFor();
  await page.getByRole("link", { name: /marmalade cat/ }).waitFor();
  expect(new URL(page.url()).search).toBe("?text=MARMALADE");
  await page.getByLabel("Search messages and ids").fill("");
  await page.getByLabel("Status").selectOption("waiting_approval");
  await page.getByRole("link", { name: /filtered\.txt/ }).waitFor();
  expect(new URL(page.url()).search).toBe("?status=waiting_approval");
  await page.getByRole("link", { name: /filtered\.txt/ }).click();
  await page.getByRole("heading", { level: 1, name: /filtered\.txt/ }).waitFor();
  await page.goBack();
  await page.getByRole("link", { name: /filtered\.txt/ }).waitFor();
  expect(await page.getByLabel("Status").inputValue()).toBe("waiting_approval");

  // The list follows what happens, and the keys walk it.
  await gateway.ask("POST", `/v1/runs/${denied}/cancel`);
  await page.getByRole("link", { name: /filtered\.txt/ }).waitFor({ state: "detached" });
  await page.getByLabel("Status").selectOption("");
  await expect.poll(() => rows.count()).toBeGreaterThan(1);
  await page.locator("h1").click();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.waitForFunction(() => (document.activeElement as HTMLElement).dataset["at"] === "0");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: /filtered\.txt/ }).waitFor();
  await page.getByText("stopped").waitFor();
  await expectClean(seen);
});

test("Now, runs and a run have no violations, wide and narrow, light and dark", async () => {
  const gateway = await shared();
  const id = await waiting(gateway, "write hello to seen.txt");
  const done = await finished(gateway, "list files");
  for (const [path, there] of [
    ["/", /things? waits? for you/],
    ["/runs", /seen\.txt/],
    [`/runs/${id}`, /entries verified here/],
    [`/runs/${done}`, /entries verified here/],
  ] as const) {
    const seen = await openPage(gateway, path);
    const { page } = seen;
    await page.getByText(there).first().waitFor();
    if (path.endsWith(done)) await page.getByRole("button", { name: /EXECUTE/ }).click();
    for (const viewport of [WIDE, PHONE]) {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        await expectAccessible(seen);
        await expectClean(seen);
      }
    }
  }
});
