/**
 * The tools of a home: made here for the gateway, for commands that call one, and for those that only describe them.
 *
 * T1. Making them costs next to nothing: what runs commands is loaded with the first command, what fetches pages with
 *     the first page; the sandbox is tried and the cache opened then.
 * T2. One set of marks for a workspace, which every tool has that writes there (U5 of untrusted-marks.ts).
 * T3. As root, commands run as somebody else, and what the file tools make is theirs to read (docs/sandbox.md).
 */
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { FALLBACK_USER } from "../adapters/sandbox-bwrap/workspace-user.ts";
import type { Tool } from "../adapters/tools/define-tool.ts";
import { chownNewFile } from "../adapters/tools/fs/chown-new-files.ts";
import { fsTools } from "../adapters/tools/fs/fs-tools.ts";
import { type UntrustedMarks, untrustedMarks } from "../adapters/tools/fs/untrusted-marks.ts";
import { inDirectory, type Workspace } from "../adapters/tools/fs/workspace.ts";
import { httpTools } from "../adapters/tools/http/http-tools.ts";
import { messageTools } from "../adapters/tools/message/message-send.ts";
import { shellTools } from "../adapters/tools/shell/shell-tools.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Marks } from "../runtime/ports/marks.ts";
import type { Sandbox } from "../runtime/ports/sandbox.ts";
import type { Config } from "./config/config.ts";
import { findWorkspace } from "./find-workspace.ts";
import type { Home } from "./home.ts";

export interface ToolSettings {
  readonly home: Home;
  readonly config: Config;
  readonly clock: Clock;
}

/** Where distributions put it. Never looked up by anybody's PATH: it is what holds everything else. */
const BWRAP_PLACES = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"] as const;

export interface BuiltInTools {
  readonly tools: readonly Tool[];
  readonly marks: Marks;
}

/** The home is there. */
export async function openBuiltInTools(settings: ToolSettings): Promise<BuiltInTools> {
  const { home, config } = settings;
  const workspace = await findWorkspace(home, config.tools.workspace);
  if (workspace.root === join(await realpath(home.directory), "workspace")) await handOver(workspace);
  const marks = untrustedMarks(workspace, home.annex);
  return { tools: toolsIn(workspace, marks, settings), marks };
}

/** The home's own workspace, the directory alone, and nothing that a link leads to: as root, commands that only read could not enter it otherwise. */
async function handOver(workspace: Workspace): Promise<void> {
  const newFileOwner = fallbackUserForRoot();
  await inDirectory({ ...workspace, newFileOwner }, [], (directory) => chownNewFile(directory.fd, directory));
}

function fallbackUserForRoot(): typeof FALLBACK_USER | null {
  return process.getuid?.() === 0 ? FALLBACK_USER : null;
}

/** As they describe themselves and their results. None of them is to be called: there may be no workspace. */
export function describeBuiltInTools(settings: ToolSettings): readonly Tool[] {
  const workspace: Workspace = { root: settings.home.workspace, traversal: "paths" };
  return toolsIn(workspace, untrustedMarks(workspace, settings.home.annex), settings);
}

function toolsIn(workspace: Workspace, marks: UntrustedMarks, { home, config, clock }: ToolSettings): readonly Tool[] {
  const { shell, http, search } = config.tools;
  const fallbackUser = fallbackUserForRoot();
  return [
    ...fsTools({ ...workspace, newFileOwner: fallbackUser }, { stateDirectory: home.annex, clock, marks }),
    ...shellTools({ workspace, sandbox: sandboxWhenNeeded(clock, fallbackUser), marks, allow: shell.allow }),
    ...httpTools({
      clock,
      allowAddresses: http.allowAddresses,
      ttlS: http.ttlS,
      cacheFile: home.pageCache,
      searchUrl: search.url ?? null,
    }),
    // No channel can be configured yet; until then there is nothing to send with.
    ...messageTools({ workspace, channels: [], templates: {} }),
  ];
}

function sandboxWhenNeeded(clock: Clock, fallbackUser: typeof FALLBACK_USER | null): Sandbox {
  let opening: Promise<Sandbox> | null = null;
  const open = (): Promise<Sandbox> => {
    opening ??= import("../adapters/sandbox-bwrap/create-bwrap-sandbox.ts").then(({ createBwrapSandbox }) => {
      const bwrapPath = BWRAP_PLACES.find((path) => existsSync(path)) ?? BWRAP_PLACES[0];
      return createBwrapSandbox({ clock, bwrapPath, architecture: process.arch, fallbackUser });
    });
    return opening;
  };
  return {
    check: async () => (await open()).check(),
    run: async (command, watcher) => (await open()).run(command, watcher),
  };
}
