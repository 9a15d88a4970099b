/** Loss and roll-back show against checkpoints: those of the home's own file, and those that were kept elsewhere. */
import { spawn } from "node:child_process";
import { copyFile, cp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { main } from "../../src/boot/main.ts";
import { type GatewayProcess, startGateway } from "../faults/gateway-process.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));
const LIMIT_MS = 120_000;

async function surety(home: string, ...words: readonly string[]) {
  const streams = capturedStreams();
  const code = await main(["--home", home, ...words], streams, () => undefined);
  return { code, ...streams.written() };
}

async function homeWith(runs: number): Promise<string> {
  const home = join(await temporaryDirectory(), "home");
  for (let run = 0; run < runs; run += 1) await surety(home, "run", "list files");
  return home;
}

const findings = async (home: string, ...words: readonly string[]) => {
  const { code, stdout } = await surety(home, ...(words.length > 0 ? words : ["verify"]), "--json");
  const verdict = JSON.parse(stdout);
  return { code, codes: (verdict.findings ?? []).map((each: { code: string }) => each.code), verdict };
};

/** As if the last runs had never been: rows, texts, capabilities and the tail of the ledger. */
function forgetAfter(home: string, runs: number): void {
  const db = new DatabaseSync(join(home, "surety.db"));
  db.exec(`
    DELETE FROM ledger WHERE seq >= (SELECT seq FROM ledger WHERE line LIKE '%"run.created"%' ORDER BY seq LIMIT 1 OFFSET ${runs});
    DELETE FROM run_states WHERE run > ${runs}; DELETE FROM runs WHERE position > ${runs};
    DELETE FROM appends WHERE place >= ${runs + 1} * 4194304; DELETE FROM capabilities;`);
  db.close();
}

verifies(
  "X-24",
  "runs that were removed together with the ledger's tail are noticed, at the next start too",
  async () => {
    const home = await homeWith(4);
    expect((await stat(join(home, "checkpoints.jsonl"))).mode & 0o777).toBe(0o600);
    expect(await findings(home)).toMatchObject({ code: 0, codes: [] });
    forgetAfter(home, 1);
    expect((await findings(home)).codes).toContain("ledger.rolled-back");
    expect((await surety(home, "run", "list files")).stderr).toMatch(/warning store\.rolled-back: .*accept the loss/);
    const after = await findings(home);
    expect(after.code).toBe(1);
    expect(after.codes).toContain("ledger.rewritten");

    const backup = join(home, "..", "accepted.db");
    await surety(home, "backup", backup);
    await surety(home, "restore", backup);
    expect(await findings(home)).toMatchObject({ code: 0 });
  },
);

verifies("X-24/rollback", "a home that was rolled back whole shows against a checkpoint kept elsewhere", async () => {
  const home = await homeWith(1);
  const elsewhere = join(home, "..", "checkpoint.json");
  const old = join(home, "..", "old.db");
  const oldFile = join(home, "..", "old.jsonl");
  await copyFile(join(home, "surety.db"), old);
  await copyFile(join(home, "checkpoints.jsonl"), oldFile);
  await cp(join(home, "agents"), join(home, "..", "agents"), { recursive: true });
  await surety(home, "run", "list files");
  expect((await surety(home, "audit", "checkpoint", elsewhere)).code).toBe(0);
  expect((await findings(home, "audit", "verify", "--since", elsewhere)).code).toBe(0);
  await copyFile(old, join(home, "surety.db"));
  expect((await findings(home, "audit", "verify")).codes).toContain("file.unexpected");
  await rm(join(home, "agents"), { recursive: true });
  await cp(join(home, "..", "agents"), join(home, "agents"), { recursive: true });
  await rm(join(home, "checkpoints.jsonl"));
  expect(await findings(home, "audit", "verify")).toMatchObject({ code: 1, codes: ["checkpoint.file-missing"] });
  await writeFile(join(home, "checkpoints.jsonl"), "");
  expect(await findings(home, "audit", "verify")).toMatchObject({ code: 1, codes: ["checkpoint.file-missing"] });
  await copyFile(oldFile, join(home, "checkpoints.jsonl"));
  expect((await findings(home, "audit", "verify")).code).toBe(0);
  expect((await findings(home, "audit", "verify", "--since", elsewhere)).codes).toContain("ledger.rolled-back");
  const text = await readFile(elsewhere, "utf8");
  await writeFile(elsewhere, text.replace(/"ledger_seq":\d+/, '"ledger_seq":1'));
  expect((await findings(home, "audit", "verify", "--since", elsewhere)).codes).toContain("checkpoint.forged");
  await writeFile(elsewhere, "{}");
  expect((await surety(home, "audit", "verify", "--since", elsewhere)).stderr).toMatch(/^error verify\.unreadable/);
});

test("a cut-off last line is none of the checkpoints, a changed line is a finding", async () => {
  const home = await homeWith(1);
  const file = join(home, "checkpoints.jsonl");
  const whole = await readFile(file, "utf8");
  await writeFile(file, `${whole}{"checkpoint":{"he`);
  expect((await findings(home)).code).toBe(0);
  await surety(home, "run", "list files");
  expect((await findings(home)).code).toBe(0);
  await writeFile(file, `nonsense\n${whole}`);
  expect((await findings(home)).codes).toEqual(["checkpoint.unreadable"]);
});

verifies(
  "X-24",
  "a write-ahead log that disappeared after kill -9 is named by verify, and told at the next start",
  async () => {
    const home = join(await temporaryDirectory(), "home");
    const start = async (): Promise<GatewayProcess> => {
      const gateway = await startGateway([process.execPath, ENTRY, "--home", home, "start", "--port", "0"]);
      onTestFinished(async () => {
        if (!gateway.isGone) await gateway.kill();
      });
      return gateway;
    };
    const first = await start();
    await first.ask("POST", "/v1/runs", { agent_id: "main", message: "list files" });
    await vi.waitFor(
      async () => {
        const { runs } = ((await first.ask("GET", "/v1/runs"))?.body ?? {}) as { runs?: { outcome: string | null }[] };
        expect(runs?.[0]?.outcome).toMatch(/COMPLETED/);
      },
      { timeout: 30_000, interval: 50 },
    );
    await first.kill();
    await rm(join(home, "surety.db-wal"));
    expect((await findings(home)).codes).toContain("database.wal-missing");
    const told = await firstLinesOf(home);
    expect(told).toMatch(/warning store\.log-lost: .*surety\.db-wal is gone/);
    expect((await findings(home)).codes).toContain("database.wal-missing");
  },
  LIMIT_MS,
);

/** What the next start says, until it listens. */
function firstLinesOf(home: string): Promise<string> {
  const child = spawn(process.execPath, [ENTRY, "--home", home, "start", "--port", "0"]);
  const closed = new Promise<void>((resolve) => child.on("close", () => resolve()));
  let told = "";
  child.stderr.on("data", (chunk: Buffer) => {
    told += chunk.toString();
  });
  child.stdout.once("data", () => child.kill("SIGTERM"));
  return closed.then(() => told);
}
