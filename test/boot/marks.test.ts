/** `surety policy marks|unmark`: what is untrusted in the workspace, and the operator's word against it. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished } from "vitest";
import { untrustedMarks } from "../../src/adapters/tools/fs/untrusted-marks.ts";
import { openWorkspace } from "../../src/adapters/tools/fs/workspace.ts";
import { main } from "../../src/boot/main.ts";
import { UNTRUSTED_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { CONTEXT } from "../adapters/tools/fs/temporary-workspace.ts";
import { startGateway, VARIABLES } from "../faults/gateway-process.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = join(import.meta.dirname, "../../src/boot/surety.ts");

/** A home whose workspace holds `a.txt`, marked, and `own.txt`, which is not. */
async function homeWithMark() {
  const directory = join(await temporaryDirectory(), "home");
  const path = join(directory, "workspace");
  await mkdir(path, { recursive: true });
  const workspace = await openWorkspace(path);
  for (const name of ["a.txt", "own.txt"]) await writeFile(join(path, name), name, { mode: 0o666 });
  const annex = join(directory, "annex");
  await untrustedMarks(workspace, annex).beforeWrite(["a.txt"], { ...CONTEXT, seen: UNTRUSTED_LABELS });
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", directory, ...words], streams, (name) =>
      name === "SURETY_TOKEN" ? VARIABLES.SURETY_TOKEN : undefined,
    );
    return { code, ...streams.written() };
  };
  const marked = async () => JSON.parse((await surety("policy", "marks", "--json")).stdout).marks;
  /** Of a session whose one run has read the file. */
  const integrityAfterReading = async (name: string): Promise<string> => {
    const { session_id } = JSON.parse((await surety("run", "--json", `read ${name}`)).stdout);
    const words = ["policy", "explain", "fs.list_dir", "{}", "--session", session_id, "--json"];
    return JSON.parse((await surety(...words)).stdout).labels.integrity;
  };
  return { directory, path, annex, workspace, surety, marked, integrityAfterReading };
}

verifies("X-5", "the operator takes a mark off, and the ledger says so", async () => {
  const { directory, surety, marked, integrityAfterReading } = await homeWithMark();
  expect(await integrityAfterReading("a.txt")).toBe("untrusted");
  expect((await surety("policy", "marks")).stdout).toBe("a.txt\n");
  const none = await surety("policy", "unmark", "own.txt");
  expect([none.code, none.stderr]).toEqual([1, expect.stringMatching(/^error not_found: own\.txt is not marked\n/)]);
  expect((await surety("policy", "unmark", "a.txt")).stdout).toBe("nothing is marked as untrusted\n");
  expect([await marked(), await integrityAfterReading("a.txt")]).toEqual([[], "user"]);
  expect((await surety("verify")).code).toBe(0);
  const database = new DatabaseSync(join(directory, "surety.db"), { readOnly: true });
  const said = database.prepare("SELECT line FROM ledger WHERE line LIKE '%mark.removed%'").all();
  database.close();
  expect(said.map(({ line }) => JSON.parse(String(line)))).toMatchObject([{ kind: "mark.removed", actor: "operator" }]);
  expect(JSON.stringify(said)).not.toContain("a.txt");
});

verifies("X-5", "beside a gateway it is the gateway that knows, forgets, and alone may write", async () => {
  const { directory, path, surety, marked, integrityAfterReading } = await homeWithMark();
  const gateway = await startGateway([process.execPath, ENTRY, "--home", directory, "start", "--port", "0"]);
  onTestFinished(async () => {
    if (!gateway.isGone) await gateway.kill();
  });
  expect([await integrityAfterReading("a.txt"), await integrityAfterReading("own.txt")]).toEqual(["untrusted", "user"]);
  // By hand, nothing that could copy what is marked behind its back.
  const words = ["tools", "call", "fs.write_text", '{"path": "b.txt", "text": "b"}', "--yes"];
  const refused = await surety(...words);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/^error store\.in-use: another surety/)]);
  expect((await readdir(path)).toSorted()).toEqual(["a.txt", "own.txt"]);
  expect((await surety("tools", "call", "fs.read_text", '{"path": "own.txt"}')).code).toBe(0);

  expect(await marked()).toEqual(["a.txt"]);
  expect((await surety("policy", "unmark", "a.txt")).code).toBe(0);
  expect([await marked(), await integrityAfterReading("a.txt")]).toEqual([[], "user"]);
  await gateway.kill();
  expect((await surety(...words)).code).toBe(0);
  expect(await readdir(path)).toContain("b.txt");
});
