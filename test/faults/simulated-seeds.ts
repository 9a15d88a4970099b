/** F15: `npm run simulate` on as many seeds, from the given one on. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Fault, Findings, Staging } from "./fault.ts";

const SCRIPT = fileURLToPath(new URL("../../scripts/simulate.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export const simulatedSeeds: Fault = {
  id: "F15",
  title: "simulation from seeds",
  unit: "seeds",
  fullSize: 10_000,
  shortSize: 50,
  stage: simulateSeeds,
};

function simulateSeeds({ seed, size, say }: Staging): Promise<Findings> {
  return new Promise((resolve, reject) => {
    const words = [SCRIPT, "--seeds", String(size), "--from", String(seed)];
    const child = spawn(process.execPath, words, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.on("error", reject);
    child.on("close", (code) => {
      const lines = output.trim().split("\n");
      const tally = lines.filter((line) => /seeds|violations/.test(line));
      for (const line of tally) say(line);
      const problems = code === 0 ? [] : [`it ended with ${code}`, ...lines.slice(-20)];
      resolve({ figures: { seeds: size, from: seed, tally: tally.join("; ") }, problems });
    });
  });
}
