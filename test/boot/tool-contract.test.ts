/**
 * The tool group of the contract test matrix (P-6, group 3) through whole runs: what no list names is denied, and a side
 * effect needs an approval. That the honeypot exception keeps to its templates and its rate: runtime/honeypot.test.ts.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { Config } from "../../src/boot/config/config.ts";
import { verifies } from "../requirements.ts";
import { openPuppet } from "./puppet.ts";

const READ = { name: "fs.read_text", arguments: { path: "a.txt" } };
const EFFECTS = [
  { name: "fs.write_text", arguments: { path: "b.txt", text: "hello" } },
  { name: "fs.edit", arguments: { path: "a.txt", old_text: "as it was", new_text: "changed" } },
  { name: "fs.delete", arguments: { path: "a.txt" } },
  { name: "shell.exec", arguments: { cmd: "touch b.txt" } },
];

/** A workspace with one file, and whether it is still as it was. */
async function openStage(policy: object) {
  const tools = { policy, shell: { allow: ["touch"] } } as Partial<Config["tools"]>;
  const { home, propose } = await openPuppet(tools);
  const { workspace } = home;
  await writeFile(join(workspace, "a.txt"), "as it was", { mode: 0o666 });
  const holds = async () => [await readdir(workspace), await readFile(join(workspace, "a.txt"), "utf8")];
  return { propose, holds };
}

const AS_IT_WAS = [["a.txt"], "as it was"];

describe("a tool contract", () => {
  verifies(
    ["P-3.2/run", "P-6/tool-allowlist"],
    "a tool that is not allowlisted is denied, also one that would only read",
    async () => {
      const { propose, holds } = await openStage({
        allow: ["fs.list_dir"],
        exceptions: [{ tool: "*", decision: "allow" }],
      });
      for (const call of [READ, ...EFFECTS]) {
        const { result, record, defects } = await propose(call, { approvedTools: [call.name] });
        expect([call.name, result]).toMatchObject([
          call.name,
          { ok: false, error: expect.stringMatching(/^policy\.denied: /) },
        ]);
        expect([record?.tool_calls, defects]).toEqual([0, []]);
      }
      expect(await holds()).toEqual(AS_IT_WAS);
      const { result } = await propose({ name: "fs.list_dir", arguments: {} });
      expect(result).toMatchObject({ ok: true });
    },
  );

  verifies(
    ["P-0/side-effects", "P-6/tool-approval", "P-3.3"],
    "a side effect that nobody approves does not happen; a read asks nobody",
    async () => {
      const { propose, holds } = await openStage({});
      expect((await propose(READ)).result).toMatchObject({ ok: true, output: { text: "as it was" } });
      for (const call of EFFECTS) {
        const { result, record } = await propose(call);
        expect([call.name, result.error]).toEqual([
          call.name,
          "policy.denied: denied: nobody can be asked on this channel",
        ]);
        expect(record?.tool_calls).toBe(0);
      }
      expect(await holds()).toEqual(AS_IT_WAS);
    },
  );

  verifies(["P-6", "P-3.3"], "with the operator's approval the same side effect happens", async () => {
    for (const call of EFFECTS) {
      const { propose, holds } = await openStage({});
      const { result, record } = await propose(call, { approvedTools: [call.name] });
      expect([call.name, result]).toMatchObject([call.name, { ok: true }]);
      expect(record?.tool_calls).toBe(1);
      await expect(holds().catch(() => "gone")).resolves.not.toEqual(AS_IT_WAS);
    }
  });
});
