/** The records of a run are where its record says, written by a gateway that is idle, and by a command before it ends. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { main } from "../../src/boot/main.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { openLiveGateway } from "./live-gateway.ts";
import { temporaryHome } from "./temporary-home.ts";

const FILES = ["contract.json", "events.jsonl", "journal.jsonl", "summary.json", "trace.jsonl"];
const WAIT = { timeout: 30_000, interval: 50 };

verifies(
  ["O-5.4", "O-2.1/files"],
  "an idle gateway writes what artifact_path names; the record over HTTP is whole",
  async () => {
    const { home, submit, ended, defects } = await openLiveGateway();
    const id = await submit("list files");
    const record = await ended(id);
    expect(record).toMatchObject({
      ...{ id, agent_id: "main", source: "http", status: "completed", outcome: "COMPLETED_WITH_TOOLS" },
      ...{ provider: "builtin", model: "demo", thinking_mode: "on_error", tool_calls: 1 },
      ...{ output: expect.stringMatching(/\S/), duration_ms: expect.any(Number) },
    });
    expect(record.trace.tool_execution_results).toEqual([
      {
        ...{ tool: "fs.list_dir", tool_call_id: expect.any(String), output: expect.stringContaining("{"), error: "" },
        summary: "listed 0 in .",
        labels: { integrity: "user", confidentiality: "private" },
      },
    ]);
    const { artifact_path: folder } = record;
    await vi.waitFor(() => stat(folder), WAIT);
    expect((await readdir(folder)).toSorted()).toEqual(FILES);
    const audit = join(home.agentsDirectory, "main", "audit");
    const [day = ""] = await vi.waitFor(() => readdir(audit), WAIT);
    await vi.waitFor(() => stat(join(home.agentsDirectory, ".run-records")), WAIT);
    const lines = (await readFile(join(audit, day), "utf8")).trimEnd().split("\n");
    const told = (await readFile(join(folder, "events.jsonl"), "utf8")).trimEnd().split("\n");
    const idsOf = (events: readonly string[]) => events.map((event) => JSON.parse(event).event_id);
    expect(idsOf(lines)).toEqual(idsOf(told));
    expect(JSON.parse(told.at(-1) ?? "")).toMatchObject({ event_type: "run.completed", seq: told.length });
    expect(lines.every((line) => JSON.parse(line).run_id === id)).toBe(true);
    expect(defects).toEqual([]);
  },
);

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
