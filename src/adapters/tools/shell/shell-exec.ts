/**
 * `shell.exec`: a command, or several joined by `|`, in the sandbox. No shell reads it (S-4.1, S-4.3).
 *
 * 1. The plan holds the words as they will be executed, each program by its real path and the hash of its bytes, the
 *    workspace by device and inode, the environment, and the scripts the command would read; where it may read others, a
 *    fingerprint of all there is (`digest-workspace.ts`). `run` executes that, programs compared once more before.
 * 2. A command that only reads is planned `read_only`, and the workspace cannot be written while it runs: were a table
 *    wrong about it, it still changes nothing. Every other command is a side effect, and is never repeated by itself;
 *    one that may start other programs or removes whole directories asks, whatever the rules allow.
 * 3. Where the sandbox does not hold, nothing runs: `sandbox.required`.
 * 4. An exit code is a result, whatever it is. Running out of time is a failure.
 * 5. No command that may write works beside one whose scripts or repository must stay what they were found to be.
 * 6. Its answer is untrusted where any place of the workspace is, and what a command may write is marked before and
 *    after (`untrusted-marks.ts`).
 */
import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
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

const MAX_TIMEOUT_MS = 600_000;
/** Of each stream. What goes to a model is cut by the contract anyway. */
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
  /** The workspace's own: every tool that writes there has the same. */
  readonly marks: UntrustedMarks;
  /** Names of the commands that may be called at all. */
  readonly allow: readonly string[];
  readonly maxTimeoutMs?: number;
  /** Where programs are looked for, absolute; as usual on the system unless a test has its own. */
  readonly searchPath?: readonly string[];
}

interface ShellParts extends Pick<ShellOptions, "workspace" | "sandbox" | "allow" | "marks"> {
  readonly environment: Readonly<Record<string, string>>;
  readonly findExecutable: FindExecutable;
  readonly maxTimeoutMs: number;
  readonly turns: ReadWriteLock;
}

export type ShellExec = ReturnType<typeof shellExec>;

export function shellExec({ workspace, sandbox, marks, allow, maxTimeoutMs, searchPath = SEARCH_PATH }: ShellOptions) {
  const parts: ShellParts = {
    ...{ workspace, sandbox, marks, allow },
    environment: shellEnvironment(workspace.root, searchPath),
    findExecutable: createExecutableFinder(workspace.root, searchPath),
    maxTimeoutMs: maxTimeoutMs ?? MAX_TIMEOUT_MS,
    turns: new ReadWriteLock(),
  };
  return {
    plan: (args: ShellArguments) => planCommand(parts, args),
    run: (call: ShellCall, context: CallContext) => runInTurn(parts, call, context),
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
    throw new ToolFailure("sandbox.required", `Nothing was run, since no sandbox holds here: ${missing.join("; ")}.`);
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
    asksAlways: asksWhateverIsAllowed(prepared, paths),
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

async function runInTurn(
  parts: ShellParts,
  call: ShellCall,
  context: CallContext,
): Promise<Awaited<ReturnType<typeof runCommand>>> {
  const { args, plan } = call;
  const prepared = await prepareCommand(parts.workspace, parts.allow, args.cmd);
  const isReading = reasonsToAsk(prepared, programsIn(plan.argv, prepared)).length === 0;
  if (isReading && filesOf(prepared).length === 0) return await runMarking(parts, call, isReading, context);
  const end = await parts.turns.take(isReading ? "together" : "alone", context.signal);
  try {
    return await runMarking(parts, call, isReading, context);
  } finally {
    end();
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
  // Not after it: what it did would be reported as not done.
  await marks.assertLabelled(labels, []);
  await marks.aroundCommand(context);
  try {
    return await runCommand(parts, args, plan, context);
  } finally {
    await marks.aroundCommand(context);
  }
}

/** What the command reads is looked at now, when nobody else can change it any more. */
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
  await refuseOtherPrograms(parts, prepared, paths, plan);
  const result = await contain(
    sandbox,
    {
      stages: stages.map((stage, index) => ({ executable: paths[index] ?? "", argv: [stage.name, ...stage.args] })),
      workspace: { root: workspace.root, isWritable: !isReading },
      ...{ cwd, environment },
      // A command that was allowed to change the repository may change its configuration.
      pinned: (isReading ? filesOf({ scripts, config }) : scripts).map(({ path, bytes }) => ({ path, bytes })),
      timeoutMs: Math.min(args.timeout_s * 1000, timeoutMs),
      maxOutputBytes: MAX_OUTPUT_BYTES,
    },
    { signal, onOutput: onOutput && asText(onOutput) },
  );
  // Ended by a signal while it was being stopped: what it did until then is no result.
  if (result.isTimedOut || (signal.aborted && result.exitCode > 128)) throw stopped(result, isReading);
  return {
    exit_code: result.exitCode,
    stdout: textOf(result.stdout, result.isCut),
    stderr: textOf(result.stderr, result.isCut),
    truncated: result.isCut,
    duration_ms: Math.round(result.durationMs),
  };
}

/** Pieces are cut anywhere: each stream has its own decoder, which waits for the rest of a character. */
function asText(tell: NonNullable<CallContext["onOutput"]>): NonNullable<SandboxWatcher["onOutput"]> {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  return (stream, bytes) => tell(decoders[stream].decode(bytes, { stream: true }), stream);
}

/** Says whether the command may write, so that a plan for reading is never one for writing. */
function environmentOf({ environment }: ShellParts, isReading: boolean): ShellParts["environment"] {
  return { ...environment, SURETY_WORKSPACE: isReading ? "read-only" : "writable" };
}

async function contain(sandbox: Sandbox, ...given: Parameters<Sandbox["run"]>): Promise<SandboxResult> {
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

/** Null where a command only reads, or reads no more than its words name. */
async function digestFor(
  { workspace }: ShellParts,
  prepared: PreparedCommand,
  paths: readonly string[],
): Promise<WorkspaceDigest | null> {
  if (reasonsToAsk(prepared, paths).length === 0) return null;
  const readsUnnamed = prepared.stages.some(({ name, isKnown }, index) => {
    const realName = basename(paths[index] ?? "");
    // git reads configurations, its own and those of submodules, and starts what they name.
    return isKnown && realName === name ? name === "git" : mayReadUnnamed(realName);
  });
  return readsUnnamed ? await digestWorkspace(workspace) : null;
}

/** Just before they are started: an update, or whoever may write there, could have replaced them since. */
async function refuseOtherPrograms(
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
  // The tables speak of the program of that very name.
  const renamed = stages.flatMap(({ name, isKnown }, index) => {
    const realName = basename(paths[index] ?? "");
    return isKnown && realName !== name ? [`${name} is really ${realName}`] : [];
  });
  return [...asks, ...renamed];
}

/**
 * By name or by what was found under it. A table vouches for the program of that very name: it starts nothing then. What
 * nobody knows may be an interpreter by another name, or have an option that starts something.
 */
function asksWhateverIsAllowed({ stages }: PreparedCommand, paths: readonly string[]): boolean {
  return stages.some(({ name, args, isKnown }, index) => {
    if (!isKnown && mayReadUnnamed(name)) return true;
    const names = [name, basename(paths[index] ?? "")];
    const isVouchedFor = isKnown && names.every((one) => one === name);
    return !isVouchedFor && names.some((one) => startsPrograms(one) || removesRecursively(one, args));
  });
}

/** The words of all stages, programs by their real paths, with a bar between two stages. */
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

/** Output that was cut may end in the middle of a character: that one is left out. */
function textOf(bytes: Uint8Array, isCut: boolean): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: isCut });
}

function changed(): ToolFailure {
  const message = "What the command depends on has changed since it was planned; nothing was run. Call it again.";
  return new ToolFailure("policy.denied", message);
}

function stopped({ durationMs }: SandboxResult, retryable: boolean): ToolFailure {
  const message = `Stopped after ${Math.round(durationMs)} ms, before it was done. Ask for less, or set a longer timeout_s.`;
  return new ToolFailure("timeout", message, { retryable });
}
