/** What every command that works on a home needs first: the directory made, variables and config read. */
import type { CommandContext } from "./command.ts";
import type { Config } from "./config/config.ts";
import { loadConfig } from "./config/load-config.ts";
import { type ReadVariable, withEnvFile } from "./environment.ts";
import { openHome } from "./home.ts";

export interface Settings {
  readonly config: Config;
  readonly readVariable: ReadVariable;
}

export async function loadSettings({ home, readVariable }: CommandContext): Promise<Settings> {
  const [config, variables] = await Promise.all([loadConfig(home.configFile), withEnvFile(readVariable, home.envFile)]);
  // Only now: what cannot be read leaves nothing half-made.
  await openHome(home);
  return { config, readVariable: variables };
}
