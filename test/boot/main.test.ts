import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { BootError } from "../../src/boot/boot-error.ts";
import type { Action, CommandContext } from "../../src/boot/command.ts";
import { type CatalogueRow, COMMAND_CATALOGUE } from "../../src/boot/command-catalogue.ts";
import { main } from "../../src/boot/main.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryHome } from "./temporary-home.ts";

interface Ending {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function surety(
  words: readonly string[],
  catalogue: readonly CatalogueRow[] = COMMAND_CATALOGUE,
): Promise<Ending> {
  const streams = capturedStreams();
  const code = await main(words, streams, () => undefined, catalogue);
  return { code, ...streams.written() };
}

/** A command that tells what it was called with. */
function probe(action: Partial<Action>, ran: (context: CommandContext) => void = () => {}): readonly CatalogueRow[] {
  const run = (context: CommandContext): Promise<number> => {
    ran(context);
    return Promise.resolve(0);
  };
  const load = () => Promise.resolve({ summary: "s", arguments: [], options: {}, examples: [], run, ...action });
  return [{ name: "probe", section: "Tests", summary: "tell", load }];
}

/** Should a call not be refused after all, nothing comes of it. */
const NOWHERE = ["--home", "/dev/null/none"];

describe("calls that are wrong", () => {
  test.each([
    [["confgi"], "error usage: unknown command confgi", "Did you mean config?"],
    [["xyzzy"], "error usage: unknown command xyzzy", "See surety --help."],
    [["--bogus"], "error usage: unknown option --bogus", "See --help."],
    [["--versoin"], "error usage: unknown option --versoin", "Did you mean --version?"],
    [["-x", "config", "get"], "error usage: unknown option -x", "See --help."],
    [["config"], "error usage: config needs one of get, set, unset, add, remove, schema", "See surety config --help."],
    [["config", "gte"], "error usage: unknown action of config gte", "Did you mean get?"],
    [["config", "__proto__"], "error usage: unknown action of config __proto__", "See surety config --help."],
    [["config", "get", "--jsno"], "error usage: unknown option --jsno", "Did you mean --json?"],
    [["config", "get", "a", "b"], "error usage: unexpected argument b", "surety config get [PATH]"],
    [
      ["config", "set", "a"],
      "error usage: VALUE is missing",
      "Write it as surety config set PATH VALUE, or PATH=VALUE for each of several.",
    ],
    [["config", "get", "--home"], "error usage: --home needs a value", "Write it as --home DIR."],
    [["config", "get", "--home", "--json"], undefined, undefined],
    [["config", "get", "--json=1"], undefined, undefined],
    [["config", "get", "--home="], "error usage: --home needs a value", "Write it as --home DIR."],
    // Node takes an empty host for every interface there is.
    [["start", ...NOWHERE, "--host", ""], "error usage: --host needs a value", "Write it as --host H."],
    [
      ["start", ...NOWHERE, "--port", "99999"],
      "error usage: --port must be a whole number from 0 to 65535",
      "Write it in digits, such as --port 8080.",
    ],
    [["start", ...NOWHERE, "--port", "-5"], "error usage: --port must be a whole number from 0 to 65535", undefined],
    [
      ["start", ...NOWHERE, "--workers", "1e9"],
      "error usage: --workers must be a whole number from 0 to 1024",
      "Write it in digits, such as --workers 8.",
    ],
    [["run", "hi", ...NOWHERE, "--model="], "error usage: --model needs a value", "Write it as --model P:M."],
    [["config", "get", "a..b"], "error usage: PATH is not a path", undefined],
  ])("%j: exit 2, one line and a hint", async (words, line, hint) => {
    const { code, stdout, stderr } = await surety(words);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    const [first, second, ...rest] = stderr.split("\n");
    if (line !== undefined) expect(first).toBe(line);
    if (hint !== undefined) expect(second).toBe(hint);
    expect(rest.length).toBeLessThanOrEqual(1);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test("with --json the error is JSON, wherever the flag stands", async () => {
    for (const words of [
      ["--json", "bogus"],
      ["bogus", "--json"],
      ["config", "get", "nowhere", "--json"],
    ]) {
      const { stderr } = await surety(words);
      expect(JSON.parse(stderr)).toEqual({
        error: { code: expect.any(String), message: expect.any(String), hint: expect.any(String) },
      });
    }
    expect((await surety(["bogus", "--", "--json"])).stderr).toMatch(/^error usage/);
  });

  test("what was typed comes back without its escapes", async () => {
    const { stderr } = await surety(["\u001b[31mred\u202e"]);
    expect(stderr).toContain("unknown command \\u{1b}[31mred\\u{202e}");
    expect(stderr).not.toContain("\u001b");
  });
});

describe("help and version", () => {
  test("without a command, the help is printed", async () => {
    expect(await surety([])).toEqual(await surety(["--help"]));
  });

  test.each([["--help"], ["-h"], ["help"]])("%s lists every command with its summary", async (word) => {
    const { code, stdout, stderr } = await surety([word]);
    expect([code, stderr]).toEqual([0, ""]);
    for (const { name, section, summary } of COMMAND_CATALOGUE) {
      expect(stdout).toContain(`${section}:`);
      expect(stdout).toMatch(new RegExp(`^  ${name} +${summary.slice(0, 10)}`, "m"));
    }
    expect(stdout).toContain("Examples:");
  });

  test("every command and every action has help, whatever else stands on the line", async () => {
    for (const { name, load } of COMMAND_CATALOGUE) {
      const command = await load();
      const calls = "actions" in command ? Object.keys(command.actions).map((action) => [name, action]) : [[name]];
      for (const words of [[name], ...calls]) {
        const { code, stdout } = await surety([...words, "--help"]);
        expect(code).toBe(0);
        expect(stdout).toContain(`surety ${words.join(" ")}`);
        expect(stdout).toContain("--home DIR");
      }
    }
    expect((await surety(["help", "config", "set"])).stdout).toContain("surety config set PATH VALUE");
  });

  test("--version, in words and in JSON", async () => {
    expect((await surety(["--version"])).stdout).toMatch(/^surety \d+\.\d+\.\d+\n$/);
    expect(JSON.parse((await surety(["--version", "--json"])).stdout)).toEqual({ version: expect.any(String) });
  });

  test("colours on a terminal, unless somebody minds", async () => {
    const help = async (isTTY: boolean, variables: Readonly<Record<string, string>>): Promise<string> => {
      const streams = capturedStreams(isTTY);
      await main(["--help"], streams, (name) => variables[name]);
      return streams.written().stdout;
    };
    expect(await help(true, { TERM: "xterm" })).toContain("\u001b[");
    expect(await help(true, { NO_COLOR: "1" })).not.toContain("\u001b[");
    expect(await help(true, { TERM: "dumb" })).not.toContain("\u001b[");
    expect(await help(false, {})).not.toContain("\u001b[");
  });

  test.each([[[]], [["config"]], [["config", "get"]]])("%j --help --json is the help as JSON, plain", async (words) => {
    const streams = capturedStreams(true);
    expect(await main([...words, "--help", "--json"], streams, () => undefined)).toBe(0);
    expect(JSON.parse(streams.written().stdout)).toEqual({ help: expect.stringMatching(/Usage:\n {2}surety/) });
  });

  test("the help says where errors stand with --json", async () => {
    expect((await surety(["--help"])).stdout).toMatch(/--json +print JSON; failures go to stderr as \{"error"/);
  });
});

describe("what a command is given", () => {
  const options = {
    port: { type: "string", value: "N", summary: "" },
    approve: { type: "string", value: "TOOL", summary: "", multiple: true },
    strict: { type: "boolean", summary: "" },
  } as const;

  test("arguments, options and home, from before and behind its name", async () => {
    let seen: CommandContext | undefined;
    const catalogue = probe({ arguments: ["A", "[B]"], options }, (context) => {
      seen = context;
    });
    const words = ["--home", "/h", "--json", "probe", "a", "--approve", "x", "--strict", "--approve=-y", "--", "--b"];
    expect(await surety(words, catalogue)).toMatchObject({ code: 0 });
    expect(seen?.arguments).toEqual(["a", "--b"]);
    expect(seen?.options.texts("approve")).toEqual(["x", "-y"]);
    expect(seen?.options.flag("strict")).toBe(true);
    expect(seen?.options.text("port")).toBeUndefined();
    expect(seen?.home.directory).toBe("/h");
    expect(seen?.isJson).toBe(true);
    expect(() => seen?.options.text("undeclared")).toThrow("never declared");
  });

  test.each(["0", "65536", "x", "1e3", "-1", "1.5", "99999999999999999999"])("--port=%s is no port", async (port) => {
    const catalogue = probe({ options }, (context) =>
      context.options.integer("port", { least: 1, most: 65535, example: 8080 }),
    );
    const { code, stderr } = await surety(["probe", `--port=${port}`], catalogue);
    expect([code, stderr.split("\n")[0]]).toEqual([2, "error usage: --port must be a whole number from 1 to 65535"]);
  });

  test("a bare --home is for commands that say so", async () => {
    const homes: string[] = [];
    const catalogue = probe({ takesBareHome: true, arguments: ["[RUN]"] }, ({ home }) => homes.push(home.directory));
    expect((await surety(["probe", "--home"], catalogue)).code).toBe(0);
    expect((await surety(["probe", "--home", "/h"], catalogue)).code).toBe(0);
    expect(homes).toEqual([expect.stringMatching(/\.surety$/), "/h"]);
  });

  test.each([
    [["probe", "--home", "--json"]],
    [["probe", "--json", "--home"]],
    [["--home", "--json", "probe"]],
    [["probe", "--home", "--json", "--", "--home"]],
  ])("%j: a bare --home swallows no flag", async (words) => {
    const seen: CommandContext[] = [];
    const catalogue = probe({ takesBareHome: true, arguments: ["[RUN]"] }, (context) => seen.push(context));
    expect(await surety(words, catalogue)).toMatchObject({ code: 0, stderr: "" });
    expect(seen).toMatchObject([{ isJson: true, home: { directory: expect.stringMatching(/\.surety$/) } }]);
    expect(seen[0]?.arguments).toEqual(words.includes("--") ? ["--home"] : []);
  });

  test("only the command that is called is loaded", async () => {
    const load = (): never => {
      throw new Error("loaded");
    };
    const catalogue = [...probe({}), { name: "other", section: "Tests", summary: "s", load }];
    expect((await surety(["probe"], catalogue)).code).toBe(0);
    expect((await surety(["--help"], catalogue)).code).toBe(0);
    expect((await surety(["other"], catalogue)).code).toBe(1);
  });
});

describe("a word of which bytes were lost", () => {
  test.each([
    [["config", "get", "--home", "/tmp/a\ufffdb"], "--home"],
    [["runs", "export", "run_1", "--out", "a\ufffd"], "--out"],
    [["config", "set", "agents.main.prompt", "caf\ufffd"], "PATH VALUE|PATH=VALUE..."],
    [["run", "caf\ufffd"], "MESSAGE"],
  ])("%j is refused by its name", async (words, name) => {
    expect(await surety([...words, ...(name === "--home" ? [] : NOWHERE)])).toEqual({
      code: 1,
      stdout: "",
      stderr: `error invalid.request: ${name} is not valid UTF-8\nWrite it in UTF-8. Nothing was done.\n`,
    });
  });

  test("is refused in SURETY_HOME, too", async () => {
    const streams = capturedStreams();
    const variables = (name: string) => (name === "SURETY_HOME" ? "/tmp/a\ufffdb" : undefined);
    expect(await main(["config", "get"], streams, variables)).toBe(1);
    expect(streams.written().stderr).toContain("SURETY_HOME is not valid UTF-8");
  });
});

describe("what a command throws", () => {
  const throwing = (error: unknown) =>
    probe({}, () => {
      throw error;
    });

  test("its own error is said with its code and its hint", async () => {
    const error = new BootError("home.unusable", "/x: no permission", "Choose another.");
    expect(await surety(["probe"], throwing(error))).toEqual({
      code: 1,
      stdout: "",
      stderr: "error home.unusable: /x: no permission\nChoose another.\n",
    });
  });

  test("an error of an inner ring keeps its code", async () => {
    const error = Object.assign(new Error("Another gateway runs here."), { code: "store.in-use" });
    expect((await surety(["probe"], throwing(error))).stderr).toBe("error store.in-use: Another gateway runs here.\n");
    const hinting = Object.assign(new Error("port 80 is in use"), {
      code: "gateway.port-in-use",
      hint: "Choose another.",
    });
    expect((await surety(["probe"], throwing(hinting))).stderr).toBe(
      "error gateway.port-in-use: port 80 is in use\nChoose another.\n",
    );
  });

  test("the operating system's is named and explained", async () => {
    const failure = await readFile("/nowhere/at/all").catch((error: unknown) => error);
    expect((await surety(["probe"], throwing(failure))).stderr).toMatch(/^error system\.enoent: ENOENT/);
  });

  test.each([
    new TypeError(`boom sk-${"aB3dE5fG7hI9jK1lM3nO"}`),
    "a string",
    null,
    Object.assign(new Error("x"), { code: "ERR_THING" }),
  ])("%s is a defect: one line, no stack, no secret", async (thrown) => {
    const { code, stderr } = await surety(["probe"], throwing(thrown));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error internal\.error: unexpected failure: .*\n.*report.*\n$/);
    expect(stderr).not.toMatch(/aB3dE5|\n\s+at /);
  });
});

describe("surety run -", () => {
  async function piped(...chunks: readonly (string | Buffer)[]): Promise<Ending> {
    const home = await temporaryHome();
    const streams = capturedStreams();
    const ended = main(["run", "-", "--home", home.directory, "--json"], streams, () => undefined);
    for (const chunk of chunks) streams.stdin.write(chunk);
    streams.stdin.end();
    return { code: await ended, ...streams.written() };
  }

  test("the message is what standard input holds, whole characters though it comes in pieces", async () => {
    const message = Buffer.from("write h\u00e4 to a.txt\n");
    const { stdout } = await piped(message.subarray(0, 8), message.subarray(8));
    const [call] = JSON.parse(stdout).trace.tool_execution_results;
    expect(call).toMatchObject({ tool: "fs.write_text", error: expect.stringContaining("policy.denied") });
  });

  test.each([
    ["nothing", [""], 2, "usage"],
    ["blanks", [" \n"], 2, "usage"],
    ["what is not UTF-8", [Buffer.from([0xff])], 1, "invalid.request"],
    ["too much", ["x".repeat(1024 * 1024), "x"], 1, "payload.too_large"],
  ])("%s is refused", async (_, chunks, code, error) => {
    expect(await piped(...chunks)).toMatchObject({ code, stderr: expect.stringContaining(`"code":"${error}"`) });
  });
});

describe("surety config", () => {
  const config = async (...words: readonly string[]) => {
    const home = await temporaryHome();
    return {
      home,
      run: (...more: readonly string[]) => surety(["config", ...words, ...more, "--home", home.directory]),
    };
  };

  test("get prints what holds, and makes nothing", async () => {
    const { home, run } = await config("get");
    expect((await run("gateway.port")).stdout).toBe("19789\n");
    expect((await run("gateway.host")).stdout).toBe("127.0.0.1\n");
    expect((await run("gateway.host", "--json")).stdout).toBe('"127.0.0.1"\n');
    expect(JSON.parse((await run()).stdout)).toMatchObject({ approvals: { timeoutS: 600 } });
    expect(await run("gateway.prot")).toMatchObject({
      code: 1,
      stderr: "error not_found: nothing is set at gateway.prot\nDid you mean gateway.port?\n",
    });
    await expect(stat(home.directory)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("set writes a private file in a private home, which get reads", async () => {
    const { home, run } = await config();
    expect(await run("set", "gateway.port", "8080")).toMatchObject({ code: 0, stderr: "" });
    expect((await stat(home.configFile)).mode & 0o777).toBe(0o600);
    expect((await stat(home.directory)).mode & 0o777).toBe(0o700);
    expect((await run("get", "gateway.port")).stdout).toBe("8080\n");
    expect((await run("set", "agents.main.prompt", "Be brief, please")).code).toBe(0);
    expect((await run("get", "agents.main.prompt")).stdout).toBe("Be brief, please\n");
    expect(JSON.parse((await run("set", "tools.shell.allow", "['ls']", "--json")).stdout)).toEqual({
      path: "tools.shell.allow",
      value: ["ls"],
    });
  });

  test.each([
    [["gateway.port", "99999"], "config.invalid"],
    [["gateway.prot", "1"], "config.unknown-key"],
    [["__proto__.x", "1"], "config.unknown-key"],
    [["gateway.port.x", "1"], "config.invalid"],
    [["agents.main.prompt", `use ${["sk", "aB3dE5fG7hI9jK1lM3nO5p"].join("-")}`], "config.secret"],
    [["models.default", "nowhere:x"], "config.invalid"],
  ])("set %j is refused and leaves the file as it was", async (words, code) => {
    const { home, run } = await config("set");
    await mkdir(home.directory);
    const before = "{ gateway: { port: 1 } } // mine\n";
    await writeFile(home.configFile, before);
    const { code: exit, stderr } = await run(...words);
    expect(exit).toBe(1);
    expect(stderr).toMatch(new RegExp(`^error ${code}: `));
    expect(stderr).not.toContain("aB3dE5");
    expect(await readFile(home.configFile, "utf8")).toBe(before);
    expect(await readdir(home.directory)).toEqual(["surety.json5"]);
  });

  test.each([
    ["{gateway: {prot: 1}}", "config.unknown-key"],
    ["{gateway", "config.syntax"],
    [Buffer.from([0x7b, 0xff, 0x7d]), "config.unreadable"],
  ])("a broken file (%j) is one clear line for every action that reads it", async (content, code) => {
    const { home, run } = await config();
    await mkdir(home.directory);
    await writeFile(home.configFile, content);
    for (const words of [["get"], ["set", "gateway.port", "1"]]) {
      const ending = await run(...words);
      expect(ending.code).toBe(1);
      expect(ending.stderr).toMatch(new RegExp(`^error ${code}: .*surety\\.json5.*\\n.+\\n$`));
    }
  });

  test("a home that is a file is unusable", async () => {
    const { home, run } = await config();
    await writeFile(home.directory, "");
    for (const words of [["get"], ["set", "gateway.port", "1"]]) {
      expect((await run(...words)).stderr).toMatch(/^error home\.unusable: .*: a file is in the way\n.*--home/);
    }
  });

  test("set takes several values at once, so that each may need the other", async () => {
    const { home, run } = await config();
    await run(
      "set",
      "models.providers.local",
      '{baseUrl: "http://127.0.0.1:1/v1", local: true, models: {m: {contextWindow: 32768, maxOutputTokens: 4096}}}',
    );
    const at = "models.providers.local.models.m";
    expect((await run("set", `${at}.costPer1kInput`, "1")).code).toBe(1);
    const both = await run("set", `${at}.costPer1kInput=1`, `${at}.costPer1kOutput=2`, "agents.main.prompt=a=b");
    expect(both).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse((await run("get", at)).stdout)).toMatchObject({ costPer1kInput: 1, costPer1kOutput: 2 });
    expect((await run("get", "agents.main.prompt")).stdout).toBe("a=b\n");
    const before = await readFile(home.configFile, "utf8");
    expect((await run("set", "gateway.port=1", "gateway.prot=2")).code).toBe(1);
    expect((await run("set", "gateway.port=1", "gateway.queue.max")).code).toBe(2);
    expect((await run("set", "gateway.port", "1", "2")).code).toBe(2);
    expect(await readFile(home.configFile, "utf8")).toBe(before);
    // A key that holds "=" is quoted.
    expect(
      (await run("set", 'models.providers.local.models["a=b"]={contextWindow: 32768, maxOutputTokens: 4096}')).code,
    ).toBe(0);
    expect((await run("get", 'models.providers.local.models["a=b"].contextWindow')).stdout).toBe("32768\n");
  });

  test("unset removes a value; its default applies again", async () => {
    const { home, run } = await config();
    await mkdir(home.directory);
    await writeFile(home.configFile, "{\n  // mine\n  gateway: { port: 1, host: '127.0.0.1' },\n}\n");
    expect(await run("unset", "gateway.port")).toMatchObject({ code: 0, stderr: "" });
    expect(await readFile(home.configFile, "utf8")).toBe("{\n  // mine\n  gateway: { host: '127.0.0.1' },\n}\n");
    expect((await run("get", "gateway.port")).stdout).toBe("19789\n");
    expect(await run("unset", "gateway.port")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error not_found: /),
    });
    // What made the config invalid can be taken out again.
    await writeFile(home.configFile, "{gateway: {prot: 1, port: 2}}");
    expect((await run("unset", "gateway.prot")).code).toBe(0);
    expect(await readFile(home.configFile, "utf8")).toBe("{gateway: {port: 2}}");
    await writeFile(
      home.configFile,
      "{models: {default: 'local:m', providers: {local: {baseUrl: 'http://127.0.0.1:1/v1', models: {m: {contextWindow: 32768, maxOutputTokens: 4096}}}}}}",
    );
    expect((await run("unset", "models.providers.local")).code).toBe(1);
  });

  test("add and remove change a list, its default included", async () => {
    const { run } = await config();
    const list = async (path: string): Promise<unknown[]> => JSON.parse((await run("get", path)).stdout);
    const before = await list("tools.shell.allow");
    expect((await run("add", "tools.shell.allow", "touch", "mkdir", "ls")).code).toBe(0);
    expect(await list("tools.shell.allow")).toEqual([...before, "touch", "mkdir"]);
    expect((await run("remove", "tools.shell.allow", "touch")).code).toBe(0);
    expect(await list("tools.shell.allow")).toEqual([...before, "mkdir"]);
    const exceptions = await list("tools.policy.exceptions");
    expect((await run("add", "tools.policy.exceptions", '{tool: "fs.*", decision: "deny"}')).code).toBe(0);
    expect(await list("tools.policy.exceptions")).toEqual([...exceptions, { tool: "fs.*", decision: "deny" }]);
    expect((await run("remove", "tools.shell.allow", "touch")).code).toBe(1);
    expect((await run("add", "gateway.port", "1")).code).toBe(2);
    expect((await run("add", "gateway.prot", "1")).code).toBe(1);
    expect((await run("add", "tools.policy.allow", "fs*")).code).toBe(1);
  });

  test("schema prints a bare JSON Schema", async () => {
    const { run } = await config("schema");
    expect(JSON.parse((await run()).stdout)).toMatchObject({ type: "object", properties: { gateway: {} } });
  });
});
