/**
 * For `npm run mutate`: the tests of what is mutated, once. Without the simulations and the exhaustive or random
 * searches, which would run again for every mutant; so a mutant that counts as killed was killed by a precise test.
 */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/kernel/{contract,journal,machine,policy}/**/*.test.ts"],
    exclude: ["**/*.tamper.test.ts", "**/properties.test.ts", "**/real-runs.test.ts"],
    isolate: false,
  },
});
