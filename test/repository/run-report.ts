/**
 * The end of a test run: the requirements gate, then the tally.
 *
 * R1. The tally is the very last line, and says `0 failed` only if the run succeeds: a file that does not load, an
 *     error outside of any test and a failure of the gate count as failures.
 * R2. The gate runs after a full run only: a filtered one cannot say what is proven.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";
import type { SerializedError } from "vitest";
import type { Reporter, TestModule, TestSpecification, Vitest } from "vitest/node";
import { citationsFor, REQUIREMENTS } from "../requirements.ts";
import { checkRequirements, idsAddedBy, idsCitedBy, tally } from "./requirements-gate.ts";

const ROOT = new URL("../../", import.meta.url);
const PROVEN_LIST = "test/proven.json";
const WITHDRAWN_LIST = "test/withdrawn.json";

export class RunReport implements Reporter {
  #vitest: Vitest | undefined;
  #isFullRun = false;
  #lastLine: string | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    // Vitest prints errors and open handles after its reporters have ended; the tally comes after those.
    process.once("exit", () => {
      if (this.#lastLine !== undefined) writeSync(1, `${this.#lastLine}\n`);
    });
  }

  async onTestRunStart(specifications: readonly TestSpecification[]): Promise<void> {
    const vitest = this.#vitest;
    if (vitest === undefined) return;
    const isNarrowed = vitest.config.project.length > 0 || vitest.getGlobalTestNamePattern() !== undefined;
    const every = await vitest.globTestSpecifications();
    this.#isFullRun = !isNarrowed && every.length === specifications.length;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 };
    const cited = new Set<string>();
    for (const module of modules) {
      let failedInside = 0;
      for (const testCase of module.children.allTests()) {
        const { state } = testCase.result();
        if (state === "passed") {
          counts.passed += 1;
          for (const id of idsCitedBy(testCase.name)) cited.add(id);
        } else if (state === "failed") failedInside += 1;
        else counts.skipped += 1;
      }
      if (module.state() === "failed") failedInside = Math.max(failedInside, 1);
      counts.failed += failedInside;
    }
    if (this.#isFullRun) counts.failed += runGate(cited);
    if (counts.failed > 0) process.exitCode = 1;
    this.#lastLine = tally(counts);
  }
}

function runGate(cited: ReadonlySet<string>): number {
  const readJson = (path: string) => JSON.parse(readFileSync(new URL(path, ROOT), "utf8"));
  const { failures, notes } = checkRequirements({
    known: new Map(Object.keys(REQUIREMENTS).map((id) => [id, citationsFor(id)])),
    listed: readJson(PROVEN_LIST),
    withdrawn: readJson(WITHDRAWN_LIST),
    ...readEarlierLists(),
    cited,
  });
  for (const line of [...failures.map((failure) => `FAILED requirement: ${failure}`), ...notes]) console.log(line);
  return failures.length;
}

function readEarlierLists(): { readonly earlier: readonly string[]; readonly hasHistory: boolean } {
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    const patches = git("log", "-m", "-p", "-U0", "--no-color", "--no-ext-diff", "--format=", "--", PROVEN_LIST);
    const isShallow = git("rev-parse", "--is-shallow-repository").trim() === "true";
    return { earlier: idsAddedBy(patches), hasHistory: !isShallow };
  } catch {
    return { earlier: [], hasHistory: false };
  }
}
