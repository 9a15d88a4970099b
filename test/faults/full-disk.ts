/**
 * F3: the disk runs full under a working gateway, and has room again later.
 *
 * The home lies on a small tmpfs of its own, which takes root to mount. Where that cannot be had, strace lets every
 * write of the process fail with ENOSPC instead; the figures say which it was.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AcceptedJobs } from "./accepted-jobs.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import type { GatewayProcess } from "./gateway-process.ts";
import { outage } from "./outage.ts";
import { openStage } from "./stage.ts";
import { failCalls, hasStrace } from "./strace.ts";
import { verifyHome } from "./verify-home.ts";

const MEGABYTE = 1024 * 1024;
const DISK_MEGABYTES = 96;

export const fullDisk: Fault = {
  id: "F3",
  title: "disk full under a working gateway, then room again",
  unit: "outages",
  fullSize: 5,
  shortSize: 1,
  stage: fillUp,
};

async function fillUp(staging: Staging): Promise<Findings> {
  const { program, seed, size, say } = staging;
  const mount = await mountSmall(DISK_MEGABYTES);
  if (mount === null && !hasStrace()) {
    return { figures: {}, problems: [], notStaged: "neither the right to mount a tmpfs nor strace" };
  }
  const stage = await openStage({
    program,
    seed,
    ...(mount === null ? null : { home: join(mount.directory, "home") }),
  });
  const jobs = new AcceptedJobs();
  const problems: string[] = [];
  const figures: Record<string, string | number> = {
    "disk made full by": mount === null ? "strace, ENOSPC (no right to mount)" : `a tmpfs of ${DISK_MEGABYTES} MB`,
    outages: 0,
  };
  try {
    const gateway = await stage.start();
    for (let round = 0; round < size; round += 1) {
      const found = await outage(stage, gateway, jobs, {
        round,
        begin: () => (mount === null ? breakWrites(gateway) : mount.fill()),
        isTotal: mount === null,
        expected: /disk is full|disk failed/,
      });
      problems.push(...found.problems);
      Object.assign(figures, { ...found.figures, outages: round + 1 });
      say(`outage ${round + 1}/${size}: ${JSON.stringify(found.figures)}`);
    }
    await gateway.stop();
    problems.push(...jobs.check(stage), ...(await verifyHome(stage)));
    return { figures: { ...figures, "runs accepted": jobs.size, outcomes: jobs.outcomes() }, problems };
  } finally {
    await stage.close();
    await mount?.unmount();
  }
}

async function breakWrites({ pid }: GatewayProcess): Promise<() => Promise<void>> {
  const { heal } = await failCalls(pid, "pwrite64,write,fallocate", "ENOSPC");
  return heal;
}

/** Null where this user may not mount. */
async function mountSmall(megabytes: number) {
  const directory = await mkdtemp(join(tmpdir(), "surety-faults-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", directory]);
  if (mounted.status !== 0) {
    await rmdir(directory);
    return null;
  }
  const ballast = join(directory, "ballast");
  return {
    directory,
    /** Takes all the room there is; the way back is returned. */
    fill: async () => {
      await fillFile(ballast, megabytes);
      return () => rm(ballast, { force: true });
    },
    unmount: async () => {
      spawnSync("umount", [directory]);
      await rmdir(directory);
    },
  };
}

async function fillFile(file: string, megabytes: number): Promise<void> {
  for (const piece of [MEGABYTE, 65_536, 4_096, 1]) {
    for (let count = 0; count < megabytes * 16; count += 1) {
      try {
        await writeFile(file, Buffer.alloc(piece), { flag: "a" });
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
        break;
      }
    }
  }
}
