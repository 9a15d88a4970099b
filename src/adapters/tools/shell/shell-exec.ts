/**
 * `shell.exec`: a command, or several joined by `|`, in the sandbox. No shell interprets it (S-4.1, S-4.3).
 *
 * The plan binds the words as executed, each program by real path and hash, the workspace by device and inode, the
 * environment, and the scripts the command reads; if it may read others, a fingerprint of the whole workspace
 * (`digest-workspace.ts`). A command that only reads runs with a read-only workspace: a wrong table cannot cause a
 * change. Every other command is never repeated automatically. Every exit code is a result; a timeout is a failure.
 */
import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import { MAX_TOOL_TIMEOUT_MS } from "../../../kernel/vocabulary/tool-envelope.ts";
import { type Sandbox, SandboxError, type SandboxResult, type SandboxWatcher } from "../../../runtime/ports/sandbox.ts";
import type { CallContext, Planned } from "../../../runtime/ports/toolbox.ts";
import type { CallOutline } from "../define-tool.ts";
import { identityOf } from "../fs/directory-handle.ts";
import type { UntrustedMarks } from "../fs/untrusted-marks.ts";
import { inDirectory, type Workspace } from "../fs/workspace.ts";
import { ToolFailure } from "../tool-failure.ts";
import { digestWorkspace, type WorkspaceDigest } from "./digest-workspace.ts";
import { createExecutableFinder, type FindExecutable } from "./find-executable.ts";
import { type PreparedCommand, prepareCommand } from "./prepare-command.ts";
import { mayReadUnnamed, removesRecursively, startsPrograms } from "./program-kinds.ts";
import type { ScriptFile } from "./read-scripts.ts";
import { ReadWriteLock } from "./read-write-lock.ts";
import { SEARCH_PATH, shellEnvironment } from "./shell-environment.ts";
import { showCommand } from "./show-command.ts";

/** Per stream. The contract cuts what goes to a model anyway. */
const MAX_OUTPUT_BYTES = 262_144;

export interface ShellArguments {
  readonly cmd: string;
  readonly timeout_s: number;
}

interface ShellCall extends Pick<Planned, "plan" | "labels"> {
  readonly args: ShellArguments;
}

export interface ShellOptions {
  readonly workspace: Workspace;
  readonly sandbox: Sandbox;
  readonly marks: UntrustedMarks;
  readonly allow: readonly string[];
  /** The most a command may take; absent: ten minutes. */
  readonly maxTimeoutMs?: number;
  /** Absolute directories of programs; tests set their own. */
  readonly searchPath?: readonly string[];
}

interface ShellParts extends Pick<ShellOptions, "workspace" | "sandbox" | "allow" | "marks"> {
  readonly maxTimeoutMs: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly findExecutable: FindExecutable;
  readonly lock: ReadWriteLock;
}

export type ShellExec = ReturnType<typeof shellExec>;

export function shellExec(options: ShellOptions) {
  const { workspace, sandbox, marks, allow } = options;
  const { maxTimeoutMs = MAX_TOOL_TIMEOUT_MS, searchPath = SEARCH_PATH } = options;
  const parts: ShellParts = {
    ...{ workspace, sandbox, marks, allow, maxTimeoutMs },
    environment: shellEnvironment(workspace.root, searchPath),
    findExecutable: createExecutableFinder(workspace.root, searchPath),
    lock: new ReadWriteLock(),
  };
  return {
    plan: (args: ShellArguments) => planCommand(parts, args),
    run: (call: ShellCall, context: CallContext) => runLocked(parts, call, context),
  };
}

async function planCommand(parts: ShellParts, args: ShellArguments): Promise<CallOutline> {
  const { workspace, sandbox, allow, findExecutable } = parts;
  const { root } = workspace;
  const prepared = await prepareCommand(workspace, allow, args.cmd);
  const { stages } = prepared;
  const executables = await Promise.all(stages.map(({ name }) => findExecutable(name)));
  const missing = await sandbox.check();
  if (missing.length > 0) {
    throw new ToolFailure("sandbox.required", `Not run: the sandbox does not work here. ${missing.join(" ")}`);
  }
  const paths = executables.map(({ path }) => path);
  const asks = reasonsToAsk(prepared, paths);
  const isReading = asks.length === 0;
  const digest = await digestFor(parts, prepared, paths);
  const timeoutMs = Math.min(args.timeout_s * 1000, parts.maxTimeoutMs);
  const [executable = null, ...others] = executables;
  return {
    ...(isReading ? READING : CHANGING),
    timeoutMs,
    asksAlways: alwaysAsks(prepared, paths),
    labels: await parts.marks.labelsOf([]),
    shown: showCommand({
      ...{ executables, root, asks, digest, timeoutMs },
      stages: stages.map((stage) => [stage.name, ...stage.args]),
      scripts: filesOf(prepared),
    }),
    plan: {
      argv: argvOf(prepared, paths),
      cwd: await inDirectory(workspace, [], async (directory) => ({ path: root, ...identityOf(directory) })),
      environmentHash: hashCanonical(environmentOf(parts, isReading)),
      executable,
      scriptHashes: [...others, ...filesOf(prepared), ...(digest === null ? [] : [digest])].map(({ hash }) => hash),
      targets: [root, ...stages.flatMap((stage) => stage.paths)],
    },
  };
}

const READING = { risk: "read_only", idempotency: "read_only" } as const;
const CHANGING = { risk: "side_effect", idempotency: "opaque" } as const;

async function runLocked(
  parts: ShellParts,
  call: ShellCall,
  context: CallContext,
): Promise<Awaited<ReturnType<typeof runCommand>>> {
  const { args, plan } = call;
  const prepared = await prepareCommand(parts.workspace, parts.allow, args.cmd);
  const isReading = reasonsToAsk(prepared, programsIn(plan.argv, prepared)).length === 0;
  if (isReading && filesOf(prepared).length === 0) return await runMarking(parts, call, isReading, context);
  const release = await parts.lock.acquire(isReading ? "shared" : "exclusive", context.signal);
  try {
    return await runMarking(parts, call, isReading, context);
  } finally {
    release();
  }
}

async function runMarking(
  parts: ShellParts,
  { args, plan, labels }: ShellCall,
  isReading: boolean,
  context: CallContext,
): Promise<Awaited<ReturnType<typeof runCommand>>> {
  const { marks } = parts;
  if (isReading) {
    const result = await runCommand(parts, args, plan, context);
    await marks.assertLabelled(labels, []);
    return result;
  }
  // Checked before the command: a failure after it would report its effects as not done.
  await marks.assertLabelled(labels, []);
  await marks.aroundCommand(context);
  try {
    return await runCommand(parts, args, plan, context);
  } finally {
    await marks.aroundCommand(context);
  }
}

/** Checks the files again under the lock, when no other command can change them. */
async function runCommand(
  parts: ShellParts,
  args: ShellArguments,
  plan: Planned["plan"],
  { mayAct, signal, timeoutMs, onOutput }: CallContext,
) {
  const { workspace, sandbox, allow } = parts;
  const prepared = await prepareCommand(workspace, allow, args.cmd);
  const { stages, scripts, config } = prepared;
  const { cwd, environmentHash, scriptHashes } = plan;
  const paths = programsIn(plan.argv, prepared);
  const digest = await digestFor(parts, prepared, paths);
  const hashes = [...filesOf(prepared), ...(digest === null ? [] : [digest])].map(({ hash }) => hash);
  const isReading = reasonsToAsk(prepared, paths).length === 0;
  const environment = environmentOf(parts, isReading);
  const isAsPlanned =
    environmentHash === hashCanonical(environment) && isDeepStrictEqual(hashes, scriptHashes.slice(stages.length - 1));
  if (!mayAct || cwd === null || !isAsPlanned) throw changed();
  await assertSamePrograms(parts, prepared, paths, plan);
  const result = await runSandboxed(
    sandbox,
    {
      stages: stages.map((stage, index) => ({ executable: paths[index] ?? "", argv: [stage.name, ...stage.args] })),
      workspace: { root: workspace.root, isWritable: !isReading },
      ...{ cwd, environment },
      // A command that may change the repository may change its configuration.
      pinned: (isReading ? filesOf({ scripts, config }) : scripts).map(({ path, bytes }) => ({ path, bytes })),
      timeoutMs: Math.min(args.timeout_s * 1000, timeoutMs),
      maxOutputBytes: MAX_OUTPUT_BYTES,
    },
    { signal, onOutput: onOutput && asText(onOutput) },
  );
  // Killed by a signal during an abort: its output is not a result.
  if (result.isTimedOut || (signal.aborted && result.exitCode > 128)) throw stopped(result, isReading);
  return {
    exit_code: result.exitCode,
    stdout: textOf(result.stdout, result.isCut),
    stderr: textOf(result.stderr, result.isCut),
    truncated: result.isCut,
    duration_ms: Math.round(result.durationMs),
  };
}

/** A chunk may end within a character, so each stream has its own decoder. */
function asText(emit: NonNullable<CallContext["onOutput"]>): NonNullable<SandboxWatcher["onOutput"]> {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  return (stream, bytes) => emit(decoders[stream].decode(bytes, { stream: true }), stream);
}

/** Includes whether the command may write, so that a plan for reading never matches one for writing. */
function environmentOf({ environment }: ShellParts, isReading: boolean): ShellParts["environment"] {
  return { ...environment, SURETY_WORKSPACE: isReading ? "read-only" : "writable" };
}

async function runSandboxed(sandbox: Sandbox, ...given: Parameters<Sandbox["run"]>): Promise<SandboxResult> {
  try {
    return await sandbox.run(...given);
  } catch (error) {
    throw error instanceof SandboxError ? failureOf(error) : error;
  }
}

function failureOf(cause: SandboxError): ToolFailure {
  const { code, message } = cause;
  if (code === "sandbox.moved") return new ToolFailure("policy.denied", message, { cause });
  if (code === "sandbox.unavailable") return new ToolFailure("sandbox.required", message, { cause });
  return new ToolFailure("internal.error", message, { details: { outcome: "unknown" }, cause });
}

/** Null if the command only reads, or reads only files that its words name. */
async function digestFor(
  { workspace }: ShellParts,
  prepared: PreparedCommand,
  paths: readonly string[],
): Promise<WorkspaceDigest | null> {
  if (reasonsToAsk(prepared, paths).length === 0) return null;
  const readsUnnamed = prepared.stages.some(({ name, isKnown }, index) => {
    const realName = basename(paths[index] ?? "");
    // git starts programs named in its configuration and in those of submodules.
    return isKnown && realName === name ? name === "git" : mayReadUnnamed(realName);
  });
  return readsUnnamed ? await digestWorkspace(workspace) : null;
}

/** Checks the programs just before they start, since an update may have replaced them. */
async function assertSamePrograms(
  { findExecutable }: ShellParts,
  { stages }: PreparedCommand,
  paths: readonly string[],
  { executable, scriptHashes }: Planned["plan"],
): Promise<void> {
  const found = await Promise.all(stages.map(({ name }) => findExecutable(name)));
  const hashes = [executable?.hash, ...scriptHashes];
  const isSame = found.every(({ path, hash }, index) => path === paths[index] && hash === hashes[index]);
  if (!isSame) throw changed();
}

function reasonsToAsk({ stages, asks }: PreparedCommand, paths: readonly string[]): readonly string[] {
  // A table describes only the program of that name.
  const renamed = stages.flatMap(({ name, isKnown }, index) => {
    const realName = basename(paths[index] ?? "");
    return isKnown && realName !== name ? [`${name} is in fact ${realName}`] : [];
  });
  return [...asks, ...renamed];
}

/**
 * Checks the name and the program found by it. A table vouches for the program of that name only. An unknown program may
 * be an interpreter by another name, or have an option that starts one.
 */
function alwaysAsks({ stages }: PreparedCommand, paths: readonly string[]): boolean {
  return stages.some(({ name, args, isKnown }, index) => {
    if (!isKnown && mayReadUnnamed(name)) return true;
    const names = [name, basename(paths[index] ?? "")];
    const isVouchedFor = isKnown && names.every((one) => one === name);
    return !isVouchedFor && names.some((one) => startsPrograms(one) || removesRecursively(one, args));
  });
}

/** The words of all stages joined by `|`, programs by their real paths. */
function argvOf({ stages }: PreparedCommand, paths: readonly string[]): readonly string[] {
  return stages.flatMap(({ args }, index) => [...(index === 0 ? [] : ["|"]), paths[index] ?? "", ...args]);
}

function programsIn(argv: readonly string[], prepared: PreparedCommand): readonly string[] {
  let start = 0;
  const paths = prepared.stages.map(({ args }) => {
    const path = argv[start] ?? "";
    start += args.length + 2;
    return path;
  });
  if (!isDeepStrictEqual(argvOf(prepared, paths), argv)) throw changed();
  return paths;
}

function filesOf({ scripts, config }: Pick<PreparedCommand, "scripts" | "config">): readonly ScriptFile[] {
  return config === null ? scripts : [...scripts, config];
}

/** Cut output may end within a character, which is dropped. */
function textOf(bytes: Uint8Array, isCut: boolean): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: isCut });
}

function changed(): ToolFailure {
  const message = "Not run: a file or program that the command uses has changed since it was planned. Call it again.";
  return new ToolFailure("policy.denied", message);
}

function stopped({ durationMs }: SandboxResult, retryable: boolean): ToolFailure {
  const message = `Stopped after ${Math.round(durationMs)} ms, before it finished. Do less, or set a longer timeout_s.`;
  return new ToolFailure("timeout", message, { retryable });
}
