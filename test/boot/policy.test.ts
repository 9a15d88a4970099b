/** `surety policy`: what it says is what happens in a run. */
import { access, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { main } from "../../src/boot/main.ts";
import { answering, serve } from "../adapters/tools/http/gated-calls.ts";
import { verifies } from "../requirements.ts";
import { capturedStreams } from "./captured-streams.ts";
import { temporaryDirectory } from "./temporary-home.ts";

async function homeFor(tools: object = {}) {
  const directory = join(await temporaryDirectory(), "home");
  await mkdir(directory);
  await writeFile(join(directory, "surety.json5"), JSON.stringify({ tools }));
  const surety = async (...words: readonly string[]) => {
    const streams = capturedStreams();
    const code = await main(["--home", directory, ...words], streams, () => undefined);
    return { code, ...streams.written() };
  };
  const asked = async (...words: readonly string[]) => JSON.parse((await surety("policy", ...words, "--json")).stdout);
  return { directory, surety, asked };
}

interface Row {
  readonly tool: string;
  readonly risk: string;
  readonly decision: string;
  readonly policy_id: string;
}

const rowsOf = (shown: {
  readonly channels: readonly { readonly channel: string; readonly tools: readonly Row[] }[];
}) =>
  shown.channels.flatMap(({ channel, tools }) =>
    tools.map(({ tool, risk, decision, policy_id }) => [channel, tool, risk, decision, policy_id].join(" ")),
  );

describe("surety policy show", () => {
  test("by default: everything asks or reads for the operator, others may look at files", async () => {
    const { asked } = await homeFor();
    expect(rowsOf(await asked("show"))).toEqual([
      "cli_local agent.delegate draft_only allow policy.risk.draft_only",
      "cli_local fs.delete side_effect approve policy.risk.side_effect",
      "cli_local fs.edit side_effect approve policy.risk.side_effect",
      "cli_local fs.list_dir read_only allow policy.risk.read_only",
      "cli_local fs.read_text read_only allow policy.risk.read_only",
      "cli_local fs.search read_only allow policy.risk.read_only",
      "cli_local fs.stat read_only allow policy.risk.read_only",
      "cli_local fs.write_text side_effect approve policy.risk.side_effect",
      "cli_local http.get read_only deny policy.capability",
      "cli_local memory.remember side_effect allow policy.exception.0",
      "cli_local memory.search read_only allow policy.risk.read_only",
      "cli_local schedule.add side_effect approve policy.risk.side_effect",
      "cli_local schedule.list read_only allow policy.risk.read_only",
      "cli_local schedule.remove side_effect approve policy.risk.side_effect",
      "cli_local shell.exec read_only allow policy.risk.read_only",
      "cli_local shell.exec side_effect approve policy.risk.side_effect",
      ...["external_message", "external_email"].flatMap((channel) => [
        `${channel} agent.delegate draft_only deny policy.channel`,
        `${channel} fs.delete side_effect deny policy.channel`,
        `${channel} fs.edit side_effect deny policy.channel`,
        `${channel} fs.list_dir read_only ${channel === "external_email" ? "deny policy.channel" : READS}`,
        `${channel} fs.read_text read_only ${READS}`,
        `${channel} fs.search read_only ${channel === "external_email" ? "deny policy.channel" : READS}`,
        `${channel} fs.stat read_only ${channel === "external_email" ? "deny policy.channel" : READS}`,
        `${channel} fs.write_text side_effect deny policy.channel`,
        `${channel} http.get read_only deny policy.channel`,
        `${channel} memory.remember side_effect deny policy.channel`,
        `${channel} memory.search read_only deny policy.channel`,
        `${channel} schedule.add side_effect deny policy.channel`,
        `${channel} schedule.list read_only deny policy.channel`,
        `${channel} schedule.remove side_effect deny policy.channel`,
        `${channel} shell.exec read_only deny policy.channel`,
        `${channel} shell.exec side_effect deny policy.channel`,
      ]),
    ]);
  });
  const READS = "allow policy.risk.read_only";

  test("exceptions, the kill switch and grants are in it", async () => {
    const exceptions = [{ tool: "fs.write_text", channel: "cli_local", decision: "allow" }];
    const { asked } = await homeFor({ policy: { exceptions } });
    const shown = rowsOf(await asked("show", "--channel", "cli_local", "--grant", "net"));
    expect(shown).toContain("cli_local fs.write_text side_effect allow policy.exception.0");
    expect(shown).toContain("cli_local http.get read_only allow policy.risk.read_only");
    expect(shown.every((row) => row.startsWith("cli_local "))).toBe(true);
    const closed = await homeFor({ policy: { sideEffects: "disabled", exceptions } });
    const rows = rowsOf(await closed.asked("show"));
    expect(rows).toContain("cli_local fs.write_text side_effect deny policy.kill-switch");
    expect(rows).toContain("cli_local shell.exec read_only allow policy.risk.read_only");
  });

  test("calls that ask whatever is allowed have a row where it says something else", async () => {
    const { asked } = await homeFor({ policy: { exceptions: [{ tool: "shell.exec", decision: "allow" }] } });
    const rows = rowsOf(await asked("show", "--channel", "cli_local")).filter((row) => row.includes("shell.exec"));
    expect(rows).toEqual([
      "cli_local shell.exec read_only allow policy.exception.0",
      "cli_local shell.exec side_effect allow policy.exception.0",
      "cli_local shell.exec side_effect approve policy.asks-always",
    ]);
  });

  test("in words, with what else decides; and where there is no home it makes none", async () => {
    const { surety } = await homeFor({ shell: { allow: ["ls"] }, http: { allowDomains: ["a.example"] } });
    const { code, stdout, stderr } = await surety("policy", "show");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^external_message:$/m);
    expect(stdout).toMatch(
      /^fs\.write_text +side_effect +asks +policy\.risk\.side_effect +This changes files, so your policy asks first\.$/m,
    );
    expect(stdout).toMatch(/^Commands: ls\.$/m);
    expect(stdout).toMatch(/net allows a\.example/);
    const none = join(await temporaryDirectory(), "none");
    expect(await main(["--home", none, "policy", "show"], capturedStreams(), () => undefined)).toBe(0);
    await expect(access(none)).rejects.toThrow("ENOENT");
  });
});

describe("surety policy explain", () => {
  const WRITE = ["fs.write_text", '{"path": "a.txt", "text": "hello"}'];
  const GET = ["http.get", '{"url": "https://example.org/x"}'];
  const shell = (cmd: string) => ["shell.exec", JSON.stringify({ cmd })];
  const SHELL = { allow: ["ls", "mkdir", "rm", "python3", "sh", "env", "xargs", "awk"] };
  const FREELY = [
    { exceptions: [{ tool: "shell.exec", channel: "cli_local", decision: "allow" }] },
    { risk: { side_effect: "allow" } },
  ];
  const cases: readonly (readonly [words: readonly string[], decision: string, policyId: string, tools?: object])[] = [
    [WRITE, "approve", "policy.risk.side_effect"],
    [[...WRITE, "--channel", "external_message"], "deny", "policy.channel"],
    [WRITE, "deny", "policy.kill-switch", { policy: { sideEffects: "disabled" } }],
    [WRITE, "deny", "policy.not-allowlisted", { policy: { allow: ["fs.read_text"] } }],
    [WRITE, "allow", "policy.exception.0", { policy: { exceptions: [{ tool: "fs.*", decision: "allow" }] } }],
    [["fs.read_text", '{"path": "../../etc/passwd"}'], "deny", "plan.problem"],
    [["fs.list_dir"], "allow", "policy.risk.read_only"],
    [["fs.list_dir", "{}", "--untrusted"], "allow", "policy.risk.read_only"],
    [["shell.exec", '{"cmd": "ls -la"}'], "allow", "policy.risk.read_only"],
    [["shell.exec", '{"cmd": "rm -rf ."}'], "deny", "plan.problem"],
    [["shell.exec", '{"cmd": "rm -rf ."}'], "approve", "policy.risk.side_effect", { shell: { allow: ["rm"] } }],
    ...[
      "python3 -c 'print(1)'",
      "sh -c id",
      "env ls",
      "xargs rm",
      "ls | xargs rm",
      "awk 1 a",
      "rm -rf .",
      "rm -r a",
    ].flatMap((cmd) =>
      FREELY.map((policy) => [shell(cmd), "approve", "policy.asks-always", { policy, shell: SHELL }] as const),
    ),
    ...FREELY.map((policy) => [shell("ls -la"), "allow", expect.anything(), { policy, shell: SHELL }] as const),
    [shell("mkdir x"), "allow", "policy.exception.0", { policy: FREELY[0], shell: SHELL }],
    [shell("mkdir x"), "allow", "policy.risk.side_effect", { policy: FREELY[1], shell: SHELL }],
    [["shell_execute", '{"command": "ls; id"}'], "deny", "plan.problem"],
    [GET, "deny", "policy.capability"],
    [[...GET, "--grant", "net:example.org"], "allow", "policy.risk.read_only"],
    [[...GET, "--grant", "net:example.com"], "deny", "policy.capability"],
    [[...GET, "--grant", "net"], "deny", "policy.capability", { http: { allowDomains: ["other.example"] } }],
    [[...GET, "--grant", "net", "--untrusted"], "approve", "policy.latch"],
    [["http.get", '{"url": "http://169.254.169.254/"}', "--grant", "net"], "deny", "plan.problem"],
  ];
  for (const [words, decision, policyId, tools] of cases) {
    test(`${words.join(" ")}: ${decision} by ${policyId}`, async () => {
      const { asked, directory } = await homeFor(tools);
      const told = await asked("explain", ...words);
      expect(told).toMatchObject({ decision, policy_id: policyId, reason: expect.stringMatching(/./) });
      expect(await readdir(join(directory, "workspace"))).toEqual([]);
    });
  }

  test("it shows the plan that an approver would see, whole", async () => {
    const { asked, surety } = await homeFor();
    const { plan, risk, targets } = await asked("explain", ...WRITE);
    expect(plan).toMatch(/^Write a new file\n.*\| hello$/s);
    expect([risk, targets]).toEqual(["side_effect", [expect.stringMatching(/\/workspace\/a\.txt$/)]]);
    const { code, stdout } = await surety("policy", "explain", ...WRITE);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^fs\.write_text on cli_local: asks\nby +policy\.risk\.side_effect\nwhy +/);
    expect(stdout).toContain("  │ | hello");
  });

  test("in a session: with what it is granted, and with what its next run would remember", async () => {
    const { place, url } = await serve(answering("the page"));
    const { surety, asked } = await homeFor({ http: { allowAddresses: [place] } });
    const run = async (...words: readonly string[]) => JSON.parse((await surety("run", "--json", ...words)).stdout);
    const get = ["explain", "http.get", JSON.stringify({ url })];
    const { session_id } = await run("fetch http://site.example/");
    const inSession = ["--session", session_id];
    const asks = { session_id, granted: [], pending: ["net:site.example"] };
    expect(await asked(...get, ...inSession)).toMatchObject({ policy_id: "policy.capability", ...asks });
    await surety("caps", "grant", "net", ...inSession);
    const granted = { session_id, granted: ["net"], labels: { integrity: "user", confidentiality: "private" } };
    expect(await asked(...get, ...inSession)).toMatchObject({ decision: "allow", ...granted });
    expect(await asked(...get)).toMatchObject({ decision: "deny" });

    expect((await run(`fetch ${url}`, ...inSession)).output).toContain("the page");
    const latched = { decision: "approve", policy_id: "policy.latch", granted: ["net"] };
    expect(await asked(...get, ...inSession)).toMatchObject({ ...latched, labels: { integrity: "untrusted" } });
    expect((await surety("policy", ...get, ...inSession)).stdout).toMatch(
      new RegExp(`^session +${session_id}; granted net; asks for net:site.example; has seen untrusted data$`, "m"),
    );
    const none = await surety("policy", ...get, "--session", "session_none");
    expect([none.code, none.stderr]).toEqual([1, expect.stringMatching(/^error not_found: there is no session/)]);
    await surety("caps", "revoke", "net", ...inSession);
    expect(await asked(...get, ...inSession)).toMatchObject({ decision: "deny", policy_id: "policy.capability" });
  });

  test.each([
    [["fs.raed_text", "{}"], 1, /^error tool\.not_found: /],
    [["fs.read_text", "{}"], 1, /^error tool\.input_invalid: /],
    [["fs.read_text", "path"], 2, /^error usage: ARGS must be a JSON object/],
    [["fs.read_text", "[]"], 2, /^error usage: ARGS must be a JSON object/],
    [["fs.list_dir", "{}", "--channel", "email"], 2, /^error usage: --channel email is not a channel class\n/],
    [["http.get", "{}", "--grant", "net:127.0.0.1"], 2, /^error usage: --grant net:127\.0\.0\.1 is not a capability\n/],
    [[], 2, /^error usage: TOOL is missing/],
  ])("%j is no call to decide about", async (words, exit, message) => {
    const { surety } = await homeFor();
    const { code, stdout, stderr } = await surety("policy", "explain", ...words);
    expect([code, stdout, stderr]).toEqual([exit, "", expect.stringMatching(message)]);
  });
});

test("surety tools call reaches hosts that are granted with the call, and none otherwise", async () => {
  const { place, url, requests } = await serve(answering("page"));
  const { surety } = await homeFor({ http: { allowAddresses: [place] } });
  const words = ["tools", "call", "http.get", JSON.stringify({ url })];
  const denied = await surety(...words);
  expect([denied.code, denied.stderr]).toEqual([
    1,
    expect.stringMatching(/^error policy\.denied: http\.get is denied\n/),
  ]);
  expect(requests).toHaveLength(0);
  const { code, stdout } = await surety(...words, "--grant", "net");
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ status: 200, text: "page" })]);
});

describe("surety policy test", () => {
  async function homeWithRuns() {
    const opened = await homeFor();
    const { surety } = opened;
    await surety("run", "list files");
    await surety("run", "write hello to a.txt", "--approve", "fs.write_text");
    await surety("run", "write hello to b.txt");
    const { stdout } = await surety("runs", "ls", "--json");
    const [denied, written, listed] = (JSON.parse(stdout).runs as readonly { readonly id: string }[]).map(
      ({ id }) => id,
    );
    return { ...opened, denied, written, listed };
  }

  verifies("X-4", "finds nothing where the configured policy is the one the runs were under", async () => {
    const { asked, surety } = await homeWithRuns();
    expect(await asked("test")).toEqual({ runs: 3, calls: 3, decided_otherwise: [], unreadable: [] });
    const { code, stdout } = await surety("policy", "test");
    expect([code, stdout]).toEqual([0, "3 runs, 3 calls: 0 would be decided otherwise\n"]);
  });

  verifies("X-4/policy-test", "names the calls of all runs that another policy would decide otherwise", async () => {
    const { asked, surety, directory, written, listed } = await homeWithRuns();
    const file = join(directory, "other.json5");
    await writeFile(file, '{ sideEffects: "disabled", exceptions: [{ tool: "fs.list_dir", decision: "approve" }] }');
    const { decided_otherwise } = await asked("test", "--policy", file);
    expect(decided_otherwise).toMatchObject([
      { run_id: written, tool: "fs.write_text", recorded: "allow", now: "deny", policy_id: "policy.kill-switch" },
      { run_id: listed, tool: "fs.list_dir", recorded: "allow", now: "approve", policy_id: "policy.exception.0" },
    ]);
    const { code, stdout } = await surety("policy", "test", "--policy", file);
    expect(code).toBe(0);
    expect(stdout).toContain(`${written} entry `);
    expect(stdout).toMatch(/3 runs, 3 calls: 2 would be decided otherwise\n$/);
  });

  test("the configured policy is the one of today", async () => {
    const { asked, directory, listed } = await homeWithRuns();
    await writeFile(
      join(directory, "surety.json5"),
      JSON.stringify({ tools: { policy: { allow: ["fs.write_text"] } } }),
    );
    expect((await asked("test")).decided_otherwise).toMatchObject([{ run_id: listed, now: "deny" }]);
  });

  test("a journal that cannot be read to its end is named, and the others are judged", async () => {
    const { surety, directory, written } = await homeWithRuns();
    const db = new DatabaseSync(join(directory, "surety.db"));
    db.prepare("UPDATE appends SET lines = replace(lines, '\"seq\":2', '\"seq\":x') WHERE place / 4194304 = 2").run();
    db.close();
    const { code, stdout, stderr } = await surety("policy", "test");
    expect([code, stdout]).toEqual([1, expect.stringContaining("3 runs, 2 calls: 0 would be decided otherwise")]);
    expect(stderr).toBe(`error journal.unreadable: see surety verify ${written}\n`);
  });

  test("a whole config is taken for its policy", async () => {
    const { asked, surety, directory, written } = await homeWithRuns();
    const file = join(directory, "other.json5");
    for (const rest of ["", "gateway: { port: 1 }", "models: {}"]) {
      await writeFile(file, `{ tools: { policy: { sideEffects: "disabled" } }, ${rest} }`);
      expect((await asked("test", "--policy", file)).decided_otherwise).toMatchObject([{ run_id: written }]);
      const replayed = await surety("replay", written ?? "", "--policy", file, "--json");
      expect(JSON.parse(replayed.stdout).decided_otherwise).toMatchObject([{ policy_id: "policy.kill-switch" }]);
    }
    await writeFile(file, '{ tools: { policy: { sideEffect: "disabled" } } }');
    expect((await surety("policy", "test", "--policy", file)).stderr).toContain("tools.policy.sideEffect is not");
  });

  test.each(["replay", "policy test"])("surety %s --help shows what the file holds", async (words) => {
    const { surety } = await homeFor();
    expect((await surety(...words.split(" "), "--help")).stdout).toContain('{ risk: { side_effect: "deny" } }');
  });

  test("a file that is not a policy is refused", async () => {
    const { surety, directory } = await homeWithRuns();
    await writeFile(join(directory, "odd.json5"), "{ dany: [] }");
    const odd = await surety("policy", "test", "--policy", join(directory, "odd.json5"));
    expect([odd.code, odd.stdout]).toEqual([1, ""]);
    expect(odd.stderr).toContain("dany");
    expect(odd.stderr).toContain('The file holds a tools.policy object such as { risk: { side_effect: "deny" } }');
    const none = await surety("policy", "test", "--policy", join(directory, "none.json5"));
    expect(none.stderr).toContain("error policy.unreadable:");
  });
});
