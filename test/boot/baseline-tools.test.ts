/** The five baseline tools as a run meets them: the seed's parameters and defaults (S-4.1), failures as results (S-7.2). */
import { describe, expect } from "vitest";
import { describeBuiltInTools } from "../../src/boot/built-in-tools.ts";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { openHome } from "../../src/boot/home.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { verifies } from "../requirements.ts";
import { openPuppet } from "./puppet.ts";
import { temporaryHome } from "./temporary-home.ts";

/** By parameter its type and, where it may be left out, its default. */
type Parameters = Readonly<Record<string, { readonly type: string; readonly default?: unknown }>>;

interface ObjectSchema {
  readonly properties: Parameters;
  readonly required?: readonly string[];
  readonly additionalProperties: boolean;
}

const SEED: Readonly<Record<string, Parameters>> = {
  "fs.read_text": { path: { type: "string" }, max_bytes: { type: "integer", default: 20_000 } },
  "fs.list_dir": { path: { type: "string", default: "." }, max_entries: { type: "integer", default: 200 } },
  "fs.write_text": {
    path: { type: "string" },
    text: { type: "string" },
    overwrite: { type: "boolean", default: false },
  },
  "shell.exec": { cmd: { type: "string" }, timeout_s: { type: "integer", default: 20 } },
  "http.get": { url: { type: "string" }, use_cache: { type: "boolean", default: true } },
};

describe("a baseline tool has the seed's parameters and defaults, and no others", () => {
  for (const [name, seed] of Object.entries(SEED)) {
    verifies(`S-4.1/${name}`, name, async () => {
      const home = await temporaryHome();
      await openHome(home);
      const tools = describeBuiltInTools({ home, clock: systemClock, config: DEFAULT_CONFIG });
      const schema = tools.find((tool) => tool.name === name)?.parameters as unknown as ObjectSchema;
      const offered = Object.entries(schema.properties).map(([key, parameter]) => [
        key,
        "default" in parameter ? { type: parameter.type, default: parameter.default } : { type: parameter.type },
      ]);
      expect(Object.fromEntries(offered)).toEqual(seed);
      expect(schema.additionalProperties).toBe(false);
      const needed = Object.keys(seed).filter((key) => !("default" in (seed[key] ?? {})));
      expect(schema.required ?? []).toEqual(needed);
    });
  }
});

describe("over a whole run", () => {
  verifies(["S-7.2/tool", "S-7.2/loop"], "a tool that fails is an ok=false result, and the run goes on", async () => {
    const { propose } = await openPuppet();
    for (const [call, code] of [
      [{ name: "fs.read_text", arguments: { path: "none.txt" } }, "invalid.request"],
      [{ name: "fs.read_text", arguments: { path: 7 } }, "tool.input_invalid"],
      [{ name: "no.such", arguments: {} }, "tool.not_found"],
    ] as const) {
      const { result, record, defects } = await propose(call);
      expect(result).toMatchObject({ tool: call.name, ok: false, output: null, error: expect.stringContaining(code) });
      expect(record).toMatchObject({ status: "completed", output: "That was it." });
      expect(defects).toEqual([]);
    }
  });

  verifies(
    ["S-7.2/fetch", "S-7.2/loop"],
    "a page that cannot be fetched is an ok=false result, and the run goes on",
    async () => {
      const { propose, sessionWith } = await openPuppet();
      const sessionId = await sessionWith("net");
      const { result, record, defects } = await propose(
        { name: "http.get", arguments: { url: "https://no-such-host.invalid/" } },
        { sessionId },
      );
      expect(result).toMatchObject({ tool: "http.get", ok: false, output: null, error: expect.any(String) });
      expect(result.error).not.toMatch(/^policy.denied/);
      expect(record).toMatchObject({ status: "completed", output: "That was it." });
      expect(defects).toEqual([]);
    },
  );
});
