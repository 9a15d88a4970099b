/**
 * The built-in tools of a home, for the gateway, for commands that call a tool, and for commands that only describe them.
 *
 * T1. Making them is cheap: the sandbox, the page cache and their code are loaded with the first command or page.
 * T2. All tools that write into a workspace share one set of marks (U5 of untrusted-marks.ts).
 * T3. As root, commands run as another user, who may read what the file tools create (docs/sandbox.md).
 */
import { existsSync, fstatSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { FALLBACK_USER, isOverlay } from "../adapters/sandbox-bwrap/workspace-user.ts";
import { agentTools } from "../adapters/tools/agent/agent-delegate.ts";
import type { ToolTimeouts } from "../adapters/tools/create-toolbox.ts";
import type { Tool } from "../adapters/tools/define-tool.ts";
import { chownOpenFile } from "../adapters/tools/fs/chown-new-files.ts";
import { fsTools } from "../adapters/tools/fs/fs-tools.ts";
import { agentFileReader } from "../adapters/tools/fs/read-agent-file.ts";
import { type UntrustedMarks, untrustedMarks } from "../adapters/tools/fs/untrusted-marks.ts";
import { inDirectory, type Workspace } from "../adapters/tools/fs/workspace.ts";
import { workspaceInbox } from "../adapters/tools/fs/workspace-inbox.ts";
import { httpTools } from "../adapters/tools/http/http-tools.ts";
import { memoryTools } from "../adapters/tools/memory/memory-tools.ts";
import { messageTools } from "../adapters/tools/message/message-send.ts";
import { type LoadJobs, scheduleTools } from "../adapters/tools/schedule/schedule-tools.ts";
import { shellTools } from "../adapters/tools/shell/shell-tools.ts";
import { ToolFailure } from "../adapters/tools/tool-failure.ts";
import type { ReadAgentFile } from "../assistant/context/agent-file.ts";
import { SubAgents } from "../assistant/subagents/sub-agents.ts";
import type { Channel } from "../runtime/ports/channel.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Inbox } from "../runtime/ports/inbox.ts";
import type { Marks } from "../runtime/ports/marks.ts";
import type { MemoryAccess } from "../runtime/ports/memory.ts";
import type { Sandbox } from "../runtime/ports/sandbox.ts";
import type { Config } from "./config/config.ts";
import { describedChannels } from "./configured-channels.ts";
import { findWorkspace } from "./find-workspace.ts";
import type { Home } from "./home.ts";

export interface ToolSettings {
  readonly home: Home;
  readonly config: Config;
  readonly clock: Clock;
  /** Absent: no home is open, and the tools are only described. */
  readonly memory?: MemoryAccess;
  /** Absent: those of the config, to be described only. */
  readonly channels?: readonly Channel[];
  /** For what tools keep; absent: they are described only, or called by hand. */
  readonly redactText?: (text: string) => string;
  /** Absent: the tools of the schedule are described only. */
  readonly jobs?: LoadJobs;
}

/** Where distributions put it. PATH is not consulted: the sandbox must not depend on the user's environment. */
const BWRAP_PLACES = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"] as const;

export interface BuiltInTools {
  /** In the workspace that is open; whatever else the config says of them. */
  readonly toolsFor: (config: Config, channels: readonly Channel[]) => readonly Tool[];
  readonly marks: Marks;
  readonly readAgentFile: ReadAgentFile;
  readonly inbox: Inbox;
}

/** The home must exist. */
export async function openBuiltInTools(settings: Omit<ToolSettings, "channels">): Promise<BuiltInTools> {
  const { home, config } = settings;
  const workspace = await findWorkspace(home, config.tools.workspace);
  if (workspace.root === join(await realpath(home.directory), "workspace")) await handOver(workspace);
  const marks = untrustedMarks(workspace, home.toolStateDirectory);
  const readAgentFile = agentFileReader(workspace, marks);
  const toolsFor: BuiltInTools["toolsFor"] = (config, channels) =>
    toolsIn(workspace, marks, { ...settings, config, channels });
  return { toolsFor, marks, readAgentFile, inbox: workspaceInbox(workspace, marks) };
}

/**
 * As root, on a file system that cannot show root's files as another user's: gives the home's own workspace to the user that
 * commands run as. The directory that we made, and nothing in it.
 */
async function handOver(workspace: Workspace): Promise<void> {
  if (fallbackUserForRoot() === null || !isOverlay(workspace.root)) return;
  await inDirectory(workspace, [], ({ fd }) => {
    if (fstatSync(fd).uid === 0) chownOpenFile(fd, FALLBACK_USER);
  });
}

function fallbackUserForRoot(): typeof FALLBACK_USER | null {
  return process.getuid?.() === 0 ? FALLBACK_USER : null;
}

/** Only for their descriptions: they must not be called, since there may be no workspace. */
export function describeBuiltInTools(settings: ToolSettings): readonly Tool[] {
  const workspace: Workspace = { root: settings.home.workspace, traversal: "paths" };
  return toolsIn(workspace, untrustedMarks(workspace, settings.home.toolStateDirectory), settings);
}

function toolsIn(
  workspace: Workspace,
  marks: UntrustedMarks,
  {
    home,
    config,
    clock,
    memory = CLOSED_MEMORY,
    channels = describedChannels(config),
    redactText,
    jobs = noJobs,
  }: ToolSettings,
): readonly Tool[] {
  const { shell, http, search, maxTimeoutMs } = config.tools;
  return [
    ...fsTools(workspace, { stateDirectory: home.toolStateDirectory, clock, marks }),
    ...shellTools({
      ...{ workspace, marks, allow: shell.allow, maxTimeoutMs },
      sandbox: sandboxWhenNeeded(clock),
    }),
    ...httpTools({
      clock,
      allowAddresses: http.allowAddresses,
      ttlS: http.ttlS,
      cacheFile: home.pageCache,
      searchUrl: search.url ?? null,
      redactText,
    }),
    ...memoryTools(memory),
    ...messageTools({ workspace, channels, templates: config.tools.message.templates }),
    ...agentTools(new SubAgents(() => config.agents).list()),
    ...scheduleTools(jobs),
  ];
}

const closed = (): never => {
  throw new ToolFailure(
    "invalid.request",
    "Memories are in an open home: use surety memory search or surety memory add.",
  );
};
const CLOSED_MEMORY: MemoryAccess = { remember: closed, search: closed };
const noJobs: LoadJobs = () =>
  Promise.reject(new ToolFailure("invalid.request", "Only a run has a schedule. By hand: surety schedule add"));

/** How long calls may take, as configured (O-1.1). */
export function toolTimeouts({ tools: { timeoutMs, maxTimeoutMs } }: Config): ToolTimeouts {
  return { defaultMs: timeoutMs, maxMs: maxTimeoutMs };
}

export function sandboxWhenNeeded(clock: Clock): Sandbox {
  let opening: Promise<Sandbox> | null = null;
  const open = (): Promise<Sandbox> => {
    opening ??= import("../adapters/sandbox-bwrap/create-bwrap-sandbox.ts").then(({ createBwrapSandbox }) => {
      const bwrapPath = BWRAP_PLACES.find((path) => existsSync(path)) ?? BWRAP_PLACES[0];
      return createBwrapSandbox({ clock, bwrapPath, architecture: process.arch, fallbackUser: fallbackUserForRoot() });
    });
    return opening;
  };
  return {
    check: async () => (await open()).check(),
    run: async (command, watcher) => (await open()).run(command, watcher),
  };
}
