import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { withoutNode } from "./scripts/without-node.ts";
import { RunReport } from "./test/repository/run-report.ts";
import { operationTable } from "./ui/vite-operations.ts";

const KERNEL_TESTS = "test/kernel/**/*.test.ts";

/**
 * The kernel tests whose result depends on a hash. Only these run a second time, with the portable hash and without Node:
 * canonical JSON and hashing, sealed contracts and plans, everything under the chain and the ledger, and a fold that
 * compares hashes. All other kernel code is the same on both hosts; the layer rules keep Node out of it.
 */
const HASHING_TESTS = [
  "test/kernel/vocabulary/{canonical-json,hash,wire-case}.test.ts",
  "test/kernel/contract/{seal-contract,open-contract}.test.ts",
  "test/kernel/policy/plan.test.ts",
  "test/kernel/protocol/raw-model-output.test.ts",
  "test/kernel/journal/*.test.ts",
  "test/kernel/journal/views/run-snapshot.test.ts",
  "test/kernel/machine/{fold,snapshot}.test.ts",
  "test/kernel-portable/**/*.test.ts",
];

/** Minutes by themselves: begun last, one of them would keep one core busy while the others have nothing to do. */
const LONG_FILES = /\/test\/(?:ui\/|boot\/faults\.)/;

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG_FILES.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    reporters: ["default", new RunReport()],
    // Tests share only what they import, which is pure or cleaned up by the test: one module graph for all is enough.
    isolate: false,
    setupFiles: ["./test/property-seed.ts"],
    sequence: { sequencer: LongFilesFirst },
    env: {
      PROPERTY_SEED: process.env["PROPERTY_SEED"] ?? "20261115",
      // Processes that tests start compile the sources once, not each for itself: half of what a start costs.
      NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.compile-cache"),
    },
    pool: "threads",
    // A core for each, none spared: half of the tests wait for processes that they started.
    maxWorkers: availableParallelism(),
    // Ends a hanging test; generous, because a busy machine must not fail one.
    testTimeout: 60_000,
    projects: [
      { extends: true, test: { name: "kernel", include: [KERNEL_TESTS] } },
      {
        extends: true,
        plugins: [withoutNode()],
        test: { name: "kernel-portable", include: HASHING_TESTS },
      },
      {
        extends: true,
        test: {
          name: "product",
          include: ["test/{runtime,assistant,adapters,boot,embedding,simulate}/**/*.test.ts"],
          globalSetup: "./test/owner-mapping-tmpdir.ts",
        },
      },
      {
        extends: true,
        plugins: [operationTable()],
        test: { name: "ui", include: ["test/ui/**/*.test.ts"], globalSetup: "./test/ui/build-pages.ts" },
      },
      { extends: true, test: { name: "repository", include: ["test/repository/**/*.test.ts"] } },
    ],
  },
});
