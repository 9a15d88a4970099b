/**
 * What a caller gets when a call fails (P-3.4): one code, a sentence to act on, no stack, and nothing of the machine
 * beyond the workspace. Every built-in tool, many bad inputs.
 */

import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createToolbox } from "../../../src/adapters/tools/create-toolbox.ts";
import { fsTools } from "../../../src/adapters/tools/fs/fs-tools.ts";
import { untrustedMarks } from "../../../src/adapters/tools/fs/untrusted-marks.ts";
import { openWorkspace } from "../../../src/adapters/tools/fs/workspace.ts";
import { httpTools } from "../../../src/adapters/tools/http/http-tools.ts";
import { messageTools } from "../../../src/adapters/tools/message/message-send.ts";
import { shellTools } from "../../../src/adapters/tools/shell/shell-tools.ts";
import { DEFAULT_SHELL_ALLOW } from "../../../src/boot/config/default-config.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { ERROR_CODES } from "../../../src/kernel/vocabulary/error-code.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { parseToolResponse, type ToolError } from "../../../src/kernel/vocabulary/tool-envelope.ts";
import { type Sandbox, SandboxError } from "../../../src/runtime/ports/sandbox.ts";
import type { Arguments, CallContext, Toolbox } from "../../../src/runtime/ports/toolbox.ts";
import { verifies } from "../../requirements.ts";
import { failing, testChannel } from "./message/test-channel.ts";

const CONTEXT: CallContext = {
  ...{ requestId: "req_1", runId: "run_1", agentId: "main", timeoutMs: 5000, idempotencyKey: hashBytes("key") },
  ...{ isRepeat: false, mayAct: true, seen: USER_LABELS, signal: new AbortController().signal, onOutput: null },
};

interface Box {
  readonly toolbox: Toolbox;
  readonly root: string;
  readonly base: string;
  readonly defects: readonly unknown[];
}

async function allTools(): Promise<Box> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "surety-errors-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const workspace = await openWorkspace(join(base, "workspace"));
  const { root } = workspace;
  const sandbox: Sandbox = {
    check: async () => [],
    run: () => Promise.reject(new SandboxError("sandbox.unavailable", "The sandbox could not be made: see the log.")),
  };
  const channel = testChannel();
  channel.conduct = failing("channel.refused");
  const defects: unknown[] = [];
  const clock = systemClock;
  const annex = join(base, "annex");
  const marks = untrustedMarks(workspace, annex);
  const tools = [
    ...fsTools(workspace, { stateDirectory: annex, clock, marks }),
    ...shellTools({ workspace, sandbox, marks, allow: DEFAULT_SHELL_ALLOW }),
    ...httpTools({
      ...{ clock, allowAddresses: [], ttlS: 60, cacheFile: join(base, "cache.db") },
      searchUrl: "https://search.test/",
      resolve: () => Promise.reject(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" })),
    }),
    ...messageTools({ channels: [channel], templates: {}, workspace }),
  ];
  const toolbox = createToolbox(tools, { clock, onDefect: (error) => defects.push(error) });
  return { toolbox, root, base, defects };
}

/** The error; null if the call succeeded. */
async function failureOf({ toolbox }: Box, tool: string, args: unknown): Promise<ToolError | null> {
  const planned = await toolbox.plan(tool, args as Arguments);
  if (!planned.ok) return planned.error;
  const parsed = parseToolResponse(await toolbox.run(planned, CONTEXT));
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.response.ok ? null : parsed.response.error;
}

const STACK =
  /\n\s*at |\bat (?:async )?\S+ \(|node:internal|\.[cm]?[jt]s:\d|node_modules|\bError:|\[object |undefined|NaN/;

function problemsWith({ base, root }: Box, { code, message, retryable, details }: ToolError): readonly string[] {
  const said = `${message} ${JSON.stringify(details)}`;
  const beyond = said.replaceAll(root, "").includes(base);
  return [
    ERROR_CODES.includes(code) ? "" : `code ${code}`,
    typeof retryable === "boolean" ? "" : "retryable",
    STACK.test(said) ? "a stack, or something of the program" : "",
    beyond ? "a path beyond the workspace" : "",
    /^\S.*[.?!]$/s.test(message) && message.length >= 12 ? "" : "no sentence",
    message.length <= 1000 ? "" : `${message.length} characters`,
  ].filter((problem) => problem !== "");
}

const PATHS = [
  ...["", ".", "..", "../outside/canary.txt", "/etc/passwd", "~/x", "a\0b", "C:\\x", "con", "a:b", "x".repeat(5000)],
  ...["link", "link/x", "loop", "none", "none/x", "file.txt/x", "dir", "dir/", "pipe", "a\u202eb", "\ud800", "a\nb"],
  ...["%2e%2e/x", "dir/../../x", "binary.bin", "....//", "file.txt", "x/".repeat(100)],
];
const COMMANDS = [
  ...["", " ", "rm -rf /", "ls; id", "ls $(id)", "ls `id`", "ls > x", "ls 'open", "git -c core.pager=id status"],
  ...["find . -delete", "no-such-program", "sh -c id", "ls\nid", "a\0b", "ls ../..", "cat /etc/shadow", "|", "ls |"],
  ...["x".repeat(100_000), "sort -o /etc/x a", "ls", "\u202els"],
];
const URLS = [
  ...["", "x", "ftp://a/", "file:///etc/passwd", "http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/"],
  ...["http://user:pass@a.test/", "https://a.test:99999/", "http://0x7f.1/", "javascript:1", "https://a.test/"],
];

function badCalls(): readonly (readonly [string, unknown])[] {
  const send = { channel: "post", recipient: "contact:anna", text: "x" };
  return [
    ...PATHS.flatMap((path) => [
      ...["fs.read_text", "fs.list_dir", "fs.stat", "fs.delete"].map((tool) => [tool, { path }] as const),
      ["fs.write_text", { path, text: "x" }] as const,
      ["fs.edit", { path, old_text: "none such", new_text: "y" }] as const,
      ["fs.search", { path, pattern: "(" }] as const,
      ["message.send", { ...send, attachments: [path] }] as const,
    ]),
    ...COMMANDS.map((cmd) => ["shell.exec", { cmd }] as const),
    ...URLS.map((url) => ["http.get", { url }] as const),
    ["web.search", { query: "x" }],
    ["message.send", send],
    ["message.send", { ...send, channel: "pigeon" }],
    ["message.send", { ...send, recipient: "nobody" }],
    ["message.draft", { ...send, text: "" }],
    ["no.such_tool", {}],
    ["__proto__", {}],
  ];
}

async function furnish({ root, base }: Box): Promise<void> {
  await mkdir(join(base, "outside"));
  await writeFile(join(base, "outside", "canary.txt"), "canary");
  await mkdir(join(root, "dir"));
  await writeFile(join(root, "dir", "x"), "x");
  await writeFile(join(root, "file.txt"), "text");
  await writeFile(join(root, "binary.bin"), Buffer.from([0xff, 0, 0xfe]));
  await symlink(join(base, "outside"), join(root, "link"));
  await symlink(join(root, "loop"), join(root, "loop"));
}

describe("a call that fails", () => {
  verifies(
    ["P-3.4", "P-6"],
    "gives one code and one sentence, without a stack or anything from outside the workspace",
    async () => {
      const box = await allTools();
      await furnish(box);
      let failures = 0;
      for (const [tool, args] of badCalls()) {
        const error = await failureOf(box, tool, args);
        if (error === null) continue;
        failures += 1;
        const shown = JSON.stringify([tool, args]).slice(0, 200);
        expect([shown, error.message, problemsWith(box, error)]).toEqual([shown, error.message, []]);
      }
      expect(failures).toBeGreaterThan(150);
      expect(box.defects).toEqual([]);
    },
    60_000,
  );

  test("for whatever arguments: every tool, any JSON", async () => {
    const box = await allTools();
    await furnish(box);
    const names = box.toolbox.tools.map(({ name }) => name);
    const keys = ["path", "text", "cmd", "url", "query", "channel", "recipient", "overwrite", "timeout_s", "__proto__"];
    const args = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.dictionary(fc.constantFrom(...keys), fc.oneof(fc.constantFrom(...PATHS, ...COMMANDS), fc.jsonValue()), {
        maxKeys: 4,
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), args, async (tool, given) => {
        const planned = await box.toolbox.plan(tool, given as Arguments);
        if (planned.ok) return;
        expect([planned.error.message, problemsWith(box, planned.error)]).toEqual([planned.error.message, []]);
      }),
      { numRuns: 300 },
    );
    expect(box.defects).toEqual([]);
  }, 60_000);

  test("caused by a defect says so without details, which go to the log", async () => {
    const box = await allTools();
    const broken = testChannel();
    broken.conduct = () => Promise.reject(new TypeError(`cannot read ${box.base}/keys`));
    const defects: unknown[] = [];
    const workspace = await openWorkspace(box.root);
    const toolbox = createToolbox(messageTools({ channels: [broken], templates: {}, workspace }), {
      clock: systemClock,
      onDefect: (error) => defects.push(error),
    });
    const send = { channel: "post", recipient: "contact:anna", text: "x" };
    const error = await failureOf({ ...box, toolbox }, "message.send", send);
    expect(error).toMatchObject({ code: "internal.error", retryable: false, details: {} });
    expect(problemsWith(box, error ?? expect.unreachable())).toEqual([]);
    expect(defects).toHaveLength(1);
  });
});
