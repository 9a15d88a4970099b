/** This process as `surety …`: its streams, its directory, and what happens when something was not caught. */
import { callerDirectory, readProcessVariable } from "./environment.ts";
import { main } from "./main.ts";
import { mayColour } from "./output.ts";
import { reportFailure } from "./report-failure.ts";

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
