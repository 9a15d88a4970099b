/**
 * Where the person stands who called us through npm, which runs a script in the package's own directory: what they name on
 * the command line is meant from where they are.
 */
import manifest from "../../package.json" with { type: "json" };
import type { ReadVariable } from "./environment.ts";

const SCRIPTS: readonly (string | undefined)[] = ["surety", "start"];

/** Null where npm did not start us: then it is the working directory. */
export function callerDirectory(readVariable: ReadVariable): string | null {
  // Another package's script may well call us too, and has its own idea of where it is.
  const isOurs = readVariable("npm_package_name") === manifest.name;
  return isOurs && SCRIPTS.includes(readVariable("npm_lifecycle_event")) ? (readVariable("INIT_CWD") ?? null) : null;
}
