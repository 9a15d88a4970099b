/** A home whose shadow loop watches, in this process: real files, a real thread. */
import { mkdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import type { WireGhost } from "../../src/assistant/shadow/wire-ghost.ts";
import type { Config } from "../../src/boot/config/config.ts";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import type { Surety } from "../../src/boot/opened-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { asApprovalId } from "../../src/kernel/vocabulary/identifiers.ts";
import { apiApprover } from "../../src/runtime/ports/approver.ts";
import type { Clock } from "../../src/runtime/ports/clock.ts";
import { temporaryHome } from "./temporary-home.ts";

export const WAIT = { timeout: 20_000, interval: 20 };
type Shadow = Config["shadow"];

interface Options {
  readonly shadow?: Partial<Omit<Shadow, "watchers">>;
  readonly watchers?: { readonly [Name in keyof Shadow["watchers"]]?: Partial<Shadow["watchers"][Name]> };
  readonly clock?: Clock;
  /** Before anything is watched. */
  readonly prepare?: (workspace: string) => Promise<void> | void;
}

export async function openShadowHome({ shadow = {}, watchers = {}, clock = systemClock, prepare }: Options = {}) {
  const home = await temporaryHome();
  await openHome(home);
  await mkdir(home.workspace, { recursive: true });
  const workspace = await realpath(home.workspace);
  await prepare?.(workspace);
  const { shadow: defaults } = DEFAULT_CONFIG;
  const config: Config = {
    ...DEFAULT_CONFIG,
    shadow: {
      ...{ ...defaults, enabled: true, cooldown: 0, ...shadow },
      watchers: {
        filesystem: { ...defaults.watchers.filesystem, ...watchers.filesystem },
        shell: { ...defaults.watchers.shell, ...watchers.shell },
        git: { ...defaults.watchers.git, ...watchers.git },
      },
    },
  };
  const defects: unknown[] = [];
  const remarks: string[] = [];
  const open = async (): Promise<Surety> => {
    const surety = await openSurety({
      ...{ home, config, clock, random: systemRandomness, token: null, approver: apiApprover },
      readVariable: () => undefined,
      remark: (line) => remarks.push(line),
      onDefect: (_id, error) => defects.push(error),
    });
    const before = remarks.length;
    surety.shadow.start();
    await vi.waitFor(() => expect(remarks.slice(before).join()).toContain("shadow: watching"), WAIT);
    return surety;
  };
  let surety = await open();
  onTestFinished(() => surety.close(0));

  const ghosts = async (): Promise<readonly WireGhost[]> => {
    const listed = await surety.operations.call("ghosts.list", {});
    if (!listed.ok) throw new Error(listed.message);
    return listed.value.ghosts;
  };
  return {
    ...{ home, workspace, config, defects, remarks, ghosts },
    get surety() {
      return surety;
    },
    write: async (name: string, text: string | Buffer): Promise<string> => {
      const path = join(workspace, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      return path;
    },
    /** The newest ghost that fits, once there is one. */
    ghost: (fits: (ghost: WireGhost) => boolean): Promise<WireGhost> =>
      vi.waitFor(async () => {
        const all = await ghosts();
        const found = all.find(fits);
        if (found === undefined) throw new Error(`no such ghost among ${JSON.stringify(all)}`);
        return found;
      }, WAIT),
    act: (id: string, action: string) => surety.operations.call("ghosts.act", { id, action }),
    /** Those that wait for a person, once there are any. */
    questions: () =>
      vi.waitFor(async () => {
        const listed = await surety.operations.call("approvals.list", {});
        if (!listed.ok || listed.value.approvals.length === 0) throw new Error("nothing waits");
        return listed.value.approvals;
      }, WAIT),
    answer: (card: { readonly id: string; readonly plan_hash: string } | undefined, decision: "allow" | "deny") => {
      const { id = "", plan_hash = "" } = card ?? {};
      return surety.operations.call("approvals.decide", { id: asApprovalId(id), plan_hash, decision });
    },
    ended: (id: string) =>
      vi.waitFor(async () => {
        const record = await surety.operations.call("runs.get", { id: id as never });
        if (!record.ok || record.value.outcome === null) throw new Error("not ended");
        return record.value;
      }, WAIT),
    restart: async (): Promise<void> => {
      await surety.close(0);
      surety = await open();
    },
  };
}
