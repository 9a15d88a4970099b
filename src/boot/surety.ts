/**
 * The program `surety …`. Loaded first and alone: it enables the compile cache beside the bundle before anything else is
 * loaded.
 */
import module from "node:module";
import { nodeProblem } from "./node-version.ts";

const tooOld = nodeProblem(process.versions.node);
if (tooOld !== null) {
  process.stderr.write(tooOld);
  process.exit(1);
}

// Only for the bundle: sources change. A cache that cannot be written costs only time.
if (import.meta.url.endsWith(".js")) module.enableCompileCache(`${import.meta.dirname}/.compile-cache`);
await import("./process.ts");
