/**
 * What every command that works on a home needs first: variables and config.
 *
 * S1. `readSettings`, for commands that only look, makes nothing: where there is no home it says so.
 * S2. `loadSettings`, for commands that act, makes the home once it is sure that everything can be read.
 */
import type { CommandContext } from "./command.ts";
import type { Config } from "./config/config.ts";
import { loadConfig } from "./config/load-config.ts";
import { type ReadVariable, withEnvFile } from "./environment.ts";
import { findExistingHome, openHome } from "./home.ts";

export interface Settings {
  readonly config: Config;
  readonly readVariable: ReadVariable;
}

export async function readSettings(context: CommandContext): Promise<Settings> {
  await findExistingHome(context.home);
  return read(context);
}

export async function loadSettings(context: CommandContext): Promise<Settings> {
  const settings = await read(context);
  await openHome(context.home);
  return settings;
}

async function read({ home, readVariable }: CommandContext): Promise<Settings> {
  const [config, variables] = await Promise.all([loadConfig(home.configFile), withEnvFile(readVariable, home.envFile)]);
  return { config, readVariable: variables };
}
