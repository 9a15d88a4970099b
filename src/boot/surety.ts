/**
 * The process: `surety …`. `main.ts` does the work and knows neither this process nor its streams.
 *
 * Loaded first and alone: it enables the compile cache beside the bundle before anything else is loaded.
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
const [{ main }, { reportFailure }, { readProcessVariable }, { mayColour }, { callerDirectory }] = await Promise.all([
  import("./main.ts"),
  import("./report-failure.ts"),
  import("./environment.ts"),
  import("./output.ts"),
  import("./environment.ts"),
]);

const { stdin, stdout, stderr } = process;

// The reader of our output is gone (`surety … | head`).
for (const stream of [stdout, stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}
process.on("uncaughtException", async (error) => {
  const isColourWelcome = mayColour(readProcessVariable);
  process.exit(await reportFailure(error, { stderr }, { isJson: false, isColourWelcome }));
});

const directory = callerDirectory(readProcessVariable);
if (directory !== null) process.chdir(directory);

process.exitCode = await main(process.argv.slice(2), { stdin, stdout, stderr });
