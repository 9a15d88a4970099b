/**
 * Variables and config of a home, which every command needs first.
 *
 * S1. `readSettings`, for commands that only read, creates nothing and fails if there is no home.
 * S2. `loadSettings`, for commands that act, creates the home after everything was read.
 * S3. `withSettings`, for commands that may do nothing, removes a home that it created and that stayed empty.
 * S4. `findSettings` treats a missing home as an empty one.
 */
import type { CommandContext } from "./command.ts";
import type { Config } from "./config/config.ts";
import { loadConfig } from "./config/load-config.ts";
import { type ReadVariable, withEnvFile } from "./environment.ts";
import { findExistingHome, openHome, unmakeHome } from "./home.ts";

export interface Settings {
  readonly config: Config;
  readonly readVariable: ReadVariable;
}

export async function readSettings(context: CommandContext): Promise<Settings> {
  await findExistingHome(context.home);
  return findSettings(context);
}

export async function loadSettings(context: CommandContext): Promise<Settings> {
  const settings = await findSettings(context);
  await openHome(context.home);
  return settings;
}

export async function withSettings<Result>(
  context: CommandContext,
  act: (settings: Settings) => Promise<Result>,
): Promise<Result> {
  const settings = await findSettings(context);
  const made = await openHome(context.home);
  try {
    return await act(settings);
  } finally {
    await unmakeHome(context.home, made);
  }
}

export async function findSettings({ home, readVariable }: CommandContext): Promise<Settings> {
  const [config, variables] = await Promise.all([loadConfig(home.configFile), withEnvFile(readVariable, home.envFile)]);
  return { config, readVariable: variables };
}
