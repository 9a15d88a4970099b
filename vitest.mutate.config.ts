/** For `npm run mutate`: the kernel's tests once, without the simulations, which would run again for every mutant. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/kernel/**/*.test.ts"],
    exclude: ["test/kernel/simulation/**"],
  },
});
