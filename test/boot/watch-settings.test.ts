import { execFileSync } from "node:child_process";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../../src/boot/config/load-config.ts";
import { withEnvFile } from "../../src/boot/environment.ts";
import { watchSettings } from "../../src/boot/watch-settings.ts";
import type { Clock } from "../../src/runtime/ports/clock.ts";
import { verifies } from "../requirements.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const SWITCHED_OFF = '{ tools: { policy: { sideEffects: "disabled" } } }';
const SWITCHED_ON = '{ tools: { policy: { sideEffects: "enabled" } } }';

const STAYS = /they stay as they were/;
const CHANGED = /applies from now on: tools\.policy\.sideEffects/;
const AGAIN = /can be used again/;

/** Settings that are watched with the kill switch pulled, and what the operator is told about them. */
async function watched() {
  const file = join(await temporaryDirectory(), "surety.json5");
  await writeFile(file, SWITCHED_OFF);
  const lines: string[] = [];
  let heard = (): void => {};
  // Looks again at once, turn after turn.
  const clock: Pick<Clock, "wake"> = {
    wake: (_, callback) => {
      const timer = setImmediate(callback);
      return () => clearImmediate(timer);
    },
  };
  const settings = watchSettings({
    files: { configFile: file, envFile: `${file}.env` },
    settings: { config: await loadConfig(file), readVariable: await withEnvFile(() => undefined, `${file}.env`) },
    clock,
    remark: (line) => {
      lines.push(line);
      heard();
    },
    adopt: () => Promise.resolve(),
  });
  onTestFinished(() => settings.close());
  const policy = { current: () => settings.current().config.tools.policy };
  /** All that was said, once the last of it matches. */
  const said = async (pattern: RegExp): Promise<readonly string[]> => {
    while (!pattern.test(lines.at(-1) ?? "")) {
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    }
    return lines;
  };
  return { file, policy, settings, said };
}

/** In one move, as editors and `surety config set` do. */
async function put(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

describe("the kill switch of a running gateway stays pulled while its config", () => {
  const CASES: Readonly<Record<string, (file: string) => Promise<unknown>>> = {
    "is removed": (file) => rm(file),
    "is emptied": (file) => writeFile(file, ""),
    "holds blanks only": (file) => writeFile(file, "\n\n"),
    "is cut off in the middle of a write": (file) => writeFile(file, SWITCHED_ON.slice(0, -3)),
    "has an unknown key": (file) => writeFile(file, "{ tool: {} }"),
    "is not UTF-8": (file) => writeFile(file, Buffer.from([0x7b, 0xff, 0x7d])),
    "is too large": (file) => writeFile(file, `${SWITCHED_ON}${" ".repeat(5 * 1024 * 1024)}`),
    "is a directory": (file) => rm(file).then(() => mkdir(file)),
    "is a pipe without a writer": (file) => rm(file).then(() => execFileSync("mkfifo", [file])),
    "is a link to an endless device": (file) => rm(file).then(() => symlink("/dev/zero", file)),
    "is a link to nothing": (file) => rm(file).then(() => symlink(`${file}.gone`, file)),
    "is a link to itself": (file) => rm(file).then(() => symlink(file, file)),
  };
  for (const [name, spoil] of Object.entries(CASES)) {
    verifies("P-3.2", `${name}, and obeys the config when it is right again`, async () => {
      const { file, policy, said } = await watched();
      await spoil(file);
      await said(STAYS);
      expect(policy.current().sideEffects).toBe("disabled");
      await rm(file, { recursive: true, force: true });
      await put(file, SWITCHED_ON);
      await said(CHANGED);
      expect(policy.current().sideEffects).toBe("enabled");
    });
  }
});

test("what is wrong with a config is said once, and that it is right again", async () => {
  const { file, policy, said } = await watched();
  await put(file, "{ tools: ");
  await said(STAYS);
  // Looked at again, since it is another file.
  await put(file, "{ tools: ");
  await put(file, "{ agents: [] }");
  await said(/agents must be/);
  await put(file, SWITCHED_OFF);
  expect(await said(AGAIN)).toEqual([
    expect.stringMatching(STAYS),
    expect.stringMatching(STAYS),
    expect.stringMatching(AGAIN),
  ]);
  await put(file, "{ tools: ");
  expect(await said(STAYS)).toHaveLength(4);
  expect(policy.current().sideEffects).toBe("disabled");
});

test("a link to a config file is followed, and changes of its target apply", async () => {
  const { file, policy, said } = await watched();
  const target = `${file}.dotfiles`;
  await writeFile(target, SWITCHED_ON);
  await symlink(target, `${file}.link`);
  await rename(`${file}.link`, file);
  await said(CHANGED);
  expect(policy.current().sideEffects).toBe("enabled");
  await rename(target, `${target}.old`);
  await said(STAYS);
  await put(target, SWITCHED_OFF);
  await said(CHANGED);
  expect(policy.current().sideEffects).toBe("disabled");
});
