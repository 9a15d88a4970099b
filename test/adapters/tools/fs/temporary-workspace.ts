/**
 * A workspace in a directory of its own, with files outside that must stay untouched.
 *
 * `outside` holds a canary file; `expectUntouched` says so when it, or anything beside it, is not as it was.
 */

import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { createToolbox } from "../../../../src/adapters/tools/create-toolbox.ts";
import type { Traversal } from "../../../../src/adapters/tools/fs/directory-handle.ts";
import { fsTools } from "../../../../src/adapters/tools/fs/fs-tools.ts";
import { untrustedMarks } from "../../../../src/adapters/tools/fs/untrusted-marks.ts";
import { openWorkspace } from "../../../../src/adapters/tools/fs/workspace.ts";
import { USER_LABELS } from "../../../../src/kernel/vocabulary/labels.ts";
import { parseToolResponse, type ToolError } from "../../../../src/kernel/vocabulary/tool-envelope.ts";
import type { Arguments, CallContext, Planned } from "../../../../src/runtime/ports/toolbox.ts";

export const CANARY = "canary: nobody reads or writes this";

type Answer = { readonly ok: true; readonly output: unknown } | { readonly ok: false; readonly error: ToolError };

export async function temporaryWorkspace(traversal?: Traversal) {
  const base = await realpath(await mkdtemp(join(tmpdir(), "surety-fs-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const outside = join(base, "outside");
  await mkdir(outside);
  await writeFile(join(outside, "canary.txt"), CANARY);
  const workspace = await openWorkspace(join(base, "workspace"), traversal);
  const { root } = workspace;
  const defects: unknown[] = [];
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const annex = join(base, "annex");
  const marks = untrustedMarks(workspace, annex);
  const toolbox = createToolbox(fsTools(workspace, { stateDirectory: annex, clock, marks }), {
    clock,
    onDefect: (error) => defects.push(error),
  });

  async function plan(tool: string, args: Arguments): Promise<Planned> {
    const planned = await toolbox.plan(tool, args);
    if (!planned.ok) throw new Error(`${planned.error.code}: ${planned.error.message}`);
    return planned;
  }

  async function run(planned: Planned, changes: Partial<CallContext> = {}): Promise<Answer> {
    const response = parseToolResponse(await toolbox.run(planned, { ...CONTEXT, ...changes }));
    if (!response.ok) throw new Error(response.problem);
    expect(defects).toEqual([]);
    return response.response.ok
      ? { ok: true, output: response.response.output }
      : { ok: false, error: response.response.error };
  }

  /** Plans and runs, as the driver would. */
  async function call(tool: string, args: Arguments, changes: Partial<CallContext> = {}): Promise<Answer> {
    const planned = await toolbox.plan(tool, args);
    expect(defects).toEqual([]);
    return planned.ok ? await run(planned, changes) : { ok: false, error: planned.error };
  }

  async function expectUntouched(): Promise<void> {
    expect((await readdir(base)).filter((name) => name !== "annex").toSorted()).toEqual(["outside", "workspace"]);
    expect(await readdir(outside)).toEqual(["canary.txt"]);
    expect(await readFile(join(outside, "canary.txt"), "utf8")).toBe(CANARY);
  }

  return { root, outside, annex, workspace, marks, toolbox, plan, run, call, expectUntouched };
}

export const CONTEXT: CallContext = {
  requestId: "req_1",
  runId: "run_1",
  agentId: "main",
  timeoutMs: 30_000,
  idempotencyKey: null,
  isRepeat: false,
  mayAct: true,
  seen: USER_LABELS,
  onOutput: null,
  signal: new AbortController().signal,
};
