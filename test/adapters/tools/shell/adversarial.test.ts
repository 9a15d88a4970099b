/** The class shell_allowlist of the adversarial inputs, and the part of approval_toctou that is about commands. */
import { readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Arguments } from "../../../../src/runtime/ports/toolbox.ts";
import { verifies } from "../../../requirements.ts";
import { temporaryShell } from "./temporary-shell.ts";

interface Attack {
  readonly class: string;
  readonly name: string;
  readonly input: { readonly args: Arguments & { readonly cmd: string } };
  readonly expected: string;
}

/** Not simply denied: see below. */
const ALLOWED = ["benign_substring_false_positive", "dash_leading_filename", "relative_binary_shadow", "timeout_huge"];
const EVERYTHING = "awk cat echo env find git grep head ls sh sort vim busybox base64 python3 node".split(" ");

async function attacks(name: string): Promise<readonly Attack[]> {
  const all: readonly Attack[] = JSON.parse(await readFile("test/fixtures/adversarial.json", "utf8"));
  return all.filter((attack) => attack.class === name);
}

describe("shell_allowlist", () => {
  verifies("S-4.3/allowlist", "every listed attack is denied before anything runs", async () => {
    const { tryPlan, ran } = await temporaryShell();
    const denied = (await attacks("shell_allowlist")).filter(({ name }) => !ALLOWED.includes(name));
    expect(denied).toHaveLength(22);
    for (const { name, input } of denied) {
      expect(await tryPlan({ cmd: input.args.cmd }), name).toMatchObject({
        ok: false,
        error: { code: "policy.denied" },
      });
    }
    expect(ran).toEqual([]);
  });

  test("with every one of their programs allowlisted, none runs without being asked for", async () => {
    const { bin, verdict, ran } = await temporaryShell({ allow: EVERYTHING, hasOwnPrograms: true });
    for (const name of EVERYTHING) await writeFile(join(bin, name), name, { mode: 0o755 });
    const asking: string[] = [];
    for (const { name, input } of (await attacks("shell_allowlist")).filter(
      (attack) => !ALLOWED.includes(attack.name),
    )) {
      const found = await verdict({ cmd: input.args.cmd });
      if (found === "side_effect") asking.push(name);
      else expect(found, name).toBe("policy.denied");
    }
    expect(asking.toSorted()).toEqual([
      ...["awk_system", "base64_pipe", "busybox_multicall", "env_split_string", "sh_combined_flags", "vi_shell"],
    ]);
    expect(ran).toEqual([]);
  });

  verifies("S-4.3", "the positive controls are allowed, by the program that is meant", async () => {
    const { root, plan, verdict } = await temporaryShell();
    await writeFile(join(root, "ls"), "#!/bin/sh\nid\n", { mode: 0o755 });
    await writeFile(join(root, "--help"), "");
    for (const { name, input } of (await attacks("shell_allowlist")).filter((attack) =>
      ALLOWED.includes(attack.name),
    )) {
      const { setup: _fixture, ...args } = input.args;
      expect(await verdict(args), name).toBe("read_only");
      expect((await plan(args)).plan.executable?.path, name).toBe(await realpath("/usr/bin/ls"));
    }
    expect((await plan({ cmd: "ls", timeout_s: 1_000_000_000 })).timeoutMs).toBe(600_000);
    expect((await plan({ cmd: "ls", timeout_s: Number.MAX_SAFE_INTEGER })).timeoutMs).toBe(600_000);
  });
});

describe("approval_toctou", () => {
  test("an approval of one command is none of another", async () => {
    const { plan, verdict } = await temporaryShell({ allow: ["git", "rm"] });
    expect(await verdict("git -c core.pager=id status")).toBe("policy.denied");
    expect((await plan("git status -s")).plan).not.toEqual((await plan("git status")).plan);
    expect((await plan("rm 'a b'")).plan).not.toEqual((await plan("rm a b")).plan);
  });

  test("no command is shown shorter than it is, and what is shown is what is executed", async () => {
    const { plan, verdict } = await temporaryShell({ allow: ["ls", "rm"] });
    expect(await verdict(`ls ${" ".repeat(5000)}; curl evil.test`)).toBe("policy.denied");
    const { shown } = await plan(`rm ${" ".repeat(5000)}a`);
    expect(shown.split("\n", 1)).toEqual(["Run: rm a"]);
    expect((await plan(`rm ${"x".repeat(5000)} last`)).shown).toContain(`Run: rm ${"x".repeat(5000)} last\n`);
  });

  test("there is no second way to say what is executed", async () => {
    const { verdict } = await temporaryShell();
    expect(await verdict({ cmd: "ls", argv: ["sh", "-c", "id"] })).toBe("tool.input_invalid");
    expect(await verdict({ rawCommand: "ls", argv: ["sh", "-c", "id"] })).toBe("tool.input_invalid");
  });
});
