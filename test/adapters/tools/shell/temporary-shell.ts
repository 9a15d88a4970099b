/** shell.exec over a workspace of its own, and a sandbox that runs nothing but remembers what it was given. */

import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { createToolbox } from "../../../../src/adapters/tools/create-toolbox.ts";
import { untrustedMarks } from "../../../../src/adapters/tools/fs/untrusted-marks.ts";
import { openWorkspace } from "../../../../src/adapters/tools/fs/workspace.ts";
import { shellTools } from "../../../../src/adapters/tools/shell/shell-tools.ts";
import { DEFAULT_SHELL_ALLOW } from "../../../../src/boot/config/default-config.ts";
import { USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { parseToolResponse, type ToolError } from "../../../../src/kernel/vocabulary/tool-envelope.ts";
import type { Sandbox, SandboxCommand, SandboxResult } from "../../../../src/runtime/ports/sandbox.ts";
import type { Arguments, CallContext, Planned } from "../../../../src/runtime/ports/toolbox.ts";

interface Circumstances {
  readonly allow?: readonly string[];
  readonly missing?: readonly string[];
  readonly result?: Partial<SandboxResult>;
  /** Programs are looked for in `bin`, which is empty at first. */
  readonly hasOwnPrograms?: boolean;
  /** In place of the one that remembers. */
  readonly sandbox?: Sandbox;
}

type Answer = { readonly ok: true; readonly output: unknown } | { readonly ok: false; readonly error: ToolError };

const NOTHING = Buffer.alloc(0);
export const QUIET: SandboxResult = {
  ...{ exitCode: 0, stdout: NOTHING, stderr: NOTHING, isCut: false, isTimedOut: false, durationMs: 7 },
};

export async function temporaryShell(given: Circumstances = {}) {
  const base = await realpath(await mkdtemp(join(tmpdir(), "surety-shell-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const workspace = await openWorkspace(join(base, "workspace"));
  const { root } = workspace;
  const bin = join(base, "bin");
  await mkdir(bin);
  await mkdir(join(base, "outside"));
  const ran: SandboxCommand[] = [];
  const recorder: Sandbox = {
    check: async () => given.missing ?? [],
    run(command) {
      ran.push(command);
      return Promise.resolve({ ...QUIET, ...given.result });
    },
  };
  const defects: unknown[] = [];
  const marks = untrustedMarks(workspace, join(base, "annex"));
  const tools = shellTools({
    ...{ workspace, sandbox: given.sandbox ?? recorder, allow: given.allow ?? DEFAULT_SHELL_ALLOW },
    marks,
    ...(given.hasOwnPrograms ? { searchPath: [bin] } : {}),
  });
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const toolbox = createToolbox(tools, { clock, onDefect: (error) => defects.push(error) });

  async function tryPlan(args: Arguments | string) {
    const planned = await toolbox.plan("shell.exec", typeof args === "string" ? { cmd: args } : args);
    expect(defects).toEqual([]);
    return planned;
  }

  async function plan(args: Arguments | string): Promise<Planned> {
    const planned = await tryPlan(args);
    if (!planned.ok) throw new Error(`${planned.error.code}: ${planned.error.message}`);
    return planned;
  }

  /** `read_only`, `side_effect`, or the code of what refused it. */
  async function verdict(args: Arguments | string): Promise<string> {
    const planned = await tryPlan(args);
    return planned.ok ? planned.risk : planned.error.code;
  }

  async function run(planned: Planned, changes: Partial<CallContext> = {}): Promise<Answer> {
    const context = { ...CONTEXT, timeoutMs: planned.timeoutMs, ...changes };
    const response = parseToolResponse(await toolbox.run(planned, context));
    if (!response.ok) throw new Error(response.problem);
    expect(defects).toEqual([]);
    return response.response.ok
      ? { ok: true, output: response.response.output }
      : { ok: false, error: response.response.error };
  }

  return { base, bin, root, workspace, marks, toolbox, ran, tryPlan, plan, verdict, run };
}

const CONTEXT: CallContext = {
  ...{ requestId: "req_1", runId: "run_1", agentId: "main", timeoutMs: 30_000, idempotencyKey: null },
  ...{ isRepeat: false, mayAct: true, seen: USER_LABELS, signal: new AbortController().signal, onOutput: null },
};
