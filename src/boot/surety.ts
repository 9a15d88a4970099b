/**
 * The process: `surety …`. Everything it does is in `main.ts`, which knows neither this process nor its streams.
 *
 * Loaded first and alone: what comes after it is compiled once and then read from a cache beside the bundle.
 */
import module from "node:module";
import { nodeProblem } from "./node-version.ts";

const tooOld = nodeProblem(process.versions.node);
if (tooOld !== null) {
  process.stderr.write(tooOld);
  process.exit(1);
}

// From source a cache would only be in the way of editing. Where it cannot be written, nothing is lost but time.
if (import.meta.url.endsWith(".js")) module.enableCompileCache(`${import.meta.dirname}/.compile-cache`);
const [{ main }, { reportFailure }, { readProcessVariable }, { mayColour }, { callerDirectory }] = await Promise.all([
  import("./main.ts"),
  import("./report-failure.ts"),
  import("./environment.ts"),
  import("./output.ts"),
  import("./environment.ts"),
]);

const { stdin, stdout, stderr } = process;

// Whoever read our output has gone (`surety … | head`): there is nobody left to tell.
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
