import { defineConfig } from "vitest/config";
import { withoutNode } from "./scripts/without-node.ts";
import { RunReport } from "./test/repository/run-report.ts";

const KERNEL_TESTS = "test/kernel/**/*.test.ts";

export default defineConfig({
  test: {
    reporters: ["default", new RunReport()],
    // Tests share no state but what they import, and that is pure or theirs to clean up: no need for a world each.
    isolate: false,
    setupFiles: ["./test/property-seed.ts"],
    env: { PROPERTY_SEED: process.env["PROPERTY_SEED"] ?? "20261115" },
    pool: "threads",
    // Only against hanging: a busy machine must not fail a test.
    testTimeout: 60_000,
    projects: [
      { extends: true, test: { name: "kernel", include: [KERNEL_TESTS] } },
      {
        extends: true,
        plugins: [withoutNode()],
        test: { name: "kernel-portable", include: [KERNEL_TESTS, "test/kernel-portable/**/*.test.ts"] },
      },
      {
        extends: true,
        test: { name: "product", include: ["test/{runtime,assistant,adapters,boot,embedding,simulate}/**/*.test.ts"] },
      },
      { extends: true, test: { name: "repository", include: ["test/repository/**/*.test.ts"] } },
    ],
  },
});
