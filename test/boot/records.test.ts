/** The records of a run are where its record says, written by a gateway that is idle, and by a command before it ends. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { main } from "../../src/boot/main.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { openLiveGateway } from "./live-gateway.ts";
import { temporaryHome } from "./temporary-home.ts";

const FILES = ["contract.json", "events.jsonl", "journal.jsonl", "summary.json", "trace.jsonl"];
const WAIT = { timeout: 30_000, interval: 50 };

test("an idle gateway writes them, in a thread that ends when nothing is left", async () => {
  const { home, submit, ended, defects } = await openLiveGateway();
  const id = await submit("list files");
  const { artifact_path: folder } = await ended(id);
  await vi.waitFor(() => stat(folder), WAIT);
  expect((await readdir(folder)).toSorted()).toEqual(FILES);
  const audit = join(home.agentsDirectory, "main", "audit");
  const [day = ""] = await vi.waitFor(() => readdir(audit), WAIT);
  await vi.waitFor(() => stat(join(home.agentsDirectory, ".run-records")), WAIT);
  const lines = (await readFile(join(audit, day), "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).event_type)).toContain("run.completed");
  expect(lines.every((line) => JSON.parse(line).run_id === id)).toBe(true);
  expect(defects).toEqual([]);
});

verifies("O-5.4", "a command has written what its run's artifact_path names before it ends", async () => {
  const home = await temporaryHome();
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", home.directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const { stdout } = await surety("run", "--json", "list files");
  const { artifact_path: folder } = JSON.parse(stdout);
  expect((await readdir(folder)).toSorted()).toEqual(FILES);
  expect(await surety("verify", join(folder, "journal.jsonl"))).toMatchObject({ code: 0 });
});
