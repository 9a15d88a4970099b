/** Changes the config file of a home, for commands: one after the other, and whole. */
import { type Home, openHome } from "../home.ts";
import { toBootError } from "./config-problem.ts";
import { readConfigText } from "./load-config.ts";

const EMPTY_CONFIG = "{\n}\n";

/** Writes nothing unless the whole config is valid afterwards. */
export async function changeConfig(home: Home, edit: (text: string) => Promise<string>): Promise<void> {
  const [{ readConfig }, { replaceFile }, { systemRandomness }] = await Promise.all([
    import("./read-config.ts"),
    import("../durable-file.ts"),
    import("../system-randomness.ts"),
  ]);
  const { configFile } = home;
  const before = (await readConfigText(configFile)) ?? EMPTY_CONFIG;
  const old = readConfig(before, configFile);
  // Anything else may be what this change repairs.
  if (!old.ok && old.problems.some(({ code }) => code === "config.syntax")) throw toBootError(old.problems);
  const after = await edit(before);
  const verdict = readConfig(after, configFile);
  if (!verdict.ok) throw toBootError(verdict.problems);
  await openHome(home);
  await replaceFile(configFile, after, systemRandomness);
}
