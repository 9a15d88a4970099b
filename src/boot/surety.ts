/** The process: `surety …`. Everything it does is in `main.ts`, which knows neither this process nor its streams. */
import { readProcessVariable } from "./environment.ts";
import { main } from "./main.ts";
import { reportFailure } from "./report-failure.ts";

const { stdin, stdout, stderr } = process;

// Whoever read our output has gone (`surety … | head`): there is nobody left to tell.
for (const stream of [stdout, stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}
process.on("uncaughtException", async (error) => {
  const isColourWelcome = readProcessVariable("NO_COLOR") === undefined;
  process.exit(await reportFailure(error, { stderr }, { isJson: false, isColourWelcome }));
});

process.exitCode = await main(process.argv.slice(2), { stdin, stdout, stderr });
