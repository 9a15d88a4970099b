/** F6: an audit file torn at every offset: what was whole stays, the tail is moved aside, the rest is written, and a start succeeds. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { derive } from "../simulate/random.ts";
import type { Fault, Findings, Staging } from "./fault.ts";
import { contentOf, project } from "./killed-projector.ts";
import { makeSampleHome, surety } from "./sample-home.ts";

/** Whole starts cost more. */
const STARTS = 20;

export const tornFiles: Fault = {
  id: "F6",
  title: "an audit file torn at every offset, and homes that start with one",
  unit: "offsets",
  fullSize: 100_000,
  shortSize: 25,
  stage: tear,
};

async function tear({ seed, size, say }: Staging): Promise<Findings> {
  const scratch = await mkdtemp(join(tmpdir(), "surety-torn-"));
  const problems: string[] = [];
  try {
    const home = join(scratch, "home");
    await makeSampleHome(home);
    const fresh = join(scratch, "fresh");
    await mkdir(fresh);
    await project(home, fresh);
    const whole = await contentOf(fresh);
    const name = [...whole.keys()].find((each) => each.includes("/audit/")) ?? "";
    const audit = whole.get(name) ?? Buffer.alloc(0);
    const offsets = Array.from({ length: Math.min(size, audit.length) }, (_, at) =>
      size >= audit.length ? at : derive(seed, "offset", at).below(audit.length),
    );
    const target = join(scratch, "target");
    await mkdir(join(target, "agents"), { recursive: true });
    await cp(fresh, target, { recursive: true });
    for (const [count, offset] of offsets.entries()) {
      await truncate(join(target, name), offset);
      await rm(join(target, "agents", ".run-records"), { force: true });
      await rm(join(target, `${name}.torn`), { force: true });
      await project(home, target);
      const [after, tail] = [
        await readFile(join(target, name)),
        await readFile(join(target, `${name}.torn`)).catch(() => Buffer.alloc(0)),
      ];
      const end = audit.lastIndexOf("\n", offset - 1) + 1;
      const expectedTail = offset === 0 || end === offset ? "" : `${audit.subarray(end, offset).toString()}\n`;
      if (!after.equals(audit)) problems.push(`torn at ${offset}, the file is not as it was`);
      if (tail.toString() !== expectedTail)
        problems.push(`torn at ${offset}, the tail that was moved aside is not the torn one`);
      if (count % 2_000 === 1_999) say(`${count + 1}/${offsets.length} offsets`);
    }
    const starts = size >= audit.length ? STARTS : 1;
    const kept = join(scratch, "kept");
    await cp(home, kept, { recursive: true });
    for (let start = 0; start < starts; start += 1) {
      const path = (await recordFiles(home))[derive(seed, "file", start).below(2)] ?? "";
      const { length } = await readFile(path);
      await truncate(path, derive(seed, "tear", start).below(length));
      // The places of the projectors are from before the lost lines.
      for (const place of [".run-records", ".session-files"]) await rm(join(home, "agents", place), { force: true });
      const ran = await surety(home, "run", "--continue", "hello");
      const verified = await surety(home, "verify");
      if (ran.code !== 0 || verified.code !== 0) problems.push(`start ${start}: ${ran.stderr} ${verified.stderr}`);
      await rm(home, { recursive: true });
      await cp(kept, home, { recursive: true });
    }
    return { figures: { offsets: offsets.length, "bytes of the file": audit.length, starts }, problems };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** One audit file and one conversation. */
async function recordFiles(home: string): Promise<readonly string[]> {
  const agent = join(home, "agents", "main");
  const firstIn = async (folder: string) => join(agent, folder, (await readdir(join(agent, folder)))[0] ?? "");
  return [await firstIn("audit"), await firstIn("sessions")];
}
