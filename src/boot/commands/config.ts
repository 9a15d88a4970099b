/** `surety config get|set|schema`. */
import { BootError, usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { type ConfigPath, parsePath, printPath, valueAt } from "../config/config-path.ts";
import { toBootError } from "../config/config-problem.ts";
import { loadConfig, readConfigText } from "../config/load-config.ts";
import { findAddress } from "../gateway-access.ts";
import { nearest } from "../nearest.ts";

const EMPTY_CONFIG = "{\n}\n";

const get: Action = {
  summary: "print the configuration, defaults included",
  arguments: ["[PATH]"],
  examples: ["surety config get", "surety config get gateway.port"],
  async run({ arguments: [text], home, output }) {
    const config = await loadConfig(home.configFile);
    const path = text === undefined ? [] : pathOf(text);
    const value = valueAt(config, path);
    if (value === undefined) throw nothingAt(config, path);
    output.result(value, () => (typeof value === "string" ? output.text(value) : output.json(value)));
  },
};

const set: Action = {
  summary: "set one value; keeps the comments in the file",
  arguments: ["PATH", "VALUE"],
  examples: [
    "surety config set models.default moonshot:kimi-k1-128k",
    "surety config set gateway.port 8080",
    'surety config set tools.shell.allow \'["ls", "cat"]\'',
    "surety config set agents.main.prompt '\"2 + 2\"'",
  ],
  run: setValue,
};

const schema: Action = {
  summary: "print the JSON Schema of surety.json5",
  examples: ["surety config schema > surety.schema.json"],
  async run({ output }) {
    const { configSchema } = await import("../config/config-schema.ts");
    output.json(configSchema());
  },
};

export const command: Command = { actions: { get, set, schema } };

/** Writes nothing unless the whole config stays valid. */
async function setValue({ arguments: [pathText = "", valueText = ""], home, output }: CommandContext): Promise<void> {
  const path = pathOf(pathText);
  if (path.length === 0) throw usageError("PATH is empty", "Name the value to set, such as gateway.port.");
  const [{ readConfig }, { editConfig }, { replaceFile }, { openHome }, { systemRandomness }] = await Promise.all([
    import("../config/read-config.ts"),
    import("../config/edit-config.ts"),
    import("../durable-file.ts"),
    import("../home.ts"),
    import("../system-randomness.ts"),
  ]);
  const { configFile } = home;
  const before = (await readConfigText(configFile)) ?? EMPTY_CONFIG;
  const old = readConfig(before, configFile);
  if (!old.ok) throw toBootError(old.problems);
  const value = await parseValue(valueText);
  const after = editConfig(before, path, value);
  if (after === null)
    throw new BootError(
      "config.invalid",
      `${printPath(path)} leads through a value that is not an object`,
      "Set that value as a whole.",
    );
  const verdict = readConfig(after, configFile);
  if (!verdict.ok) throw toBootError(verdict.problems);
  await openHome(home);
  await replaceFile(configFile, after, systemRandomness);
  output.result({ path: printPath(path), value }, () => output.line(`${printPath(path)} is set in ${configFile}`));
  if ((await findAddress(home)) !== null) output.remark(NEEDS_RESTART);
}

const NEEDS_RESTART =
  "A running gateway applies tools.policy and tools.http.allowDomains at once; restart it for everything else.";

/** JSON5 if it parses, else the text itself, so that a model's name needs no second quotes. */
async function parseValue(text: string): Promise<unknown> {
  const { default: JSON5 } = await import("json5");
  try {
    return JSON5.parse<unknown>(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

function pathOf(text: string): ConfigPath {
  const path = parsePath(text);
  if (path !== null) return path;
  throw usageError("PATH is not a path", 'Write it as gateway.port, or models.providers.x.models["gpt-4.1"].');
}

function nothingAt(root: unknown, path: ConfigPath): BootError {
  const depth = path.findIndex((_, index) => valueAt(root, path.slice(0, index + 1)) === undefined);
  const parent = valueAt(root, path.slice(0, depth));
  const known = typeof parent === "object" && parent !== null ? Object.keys(parent) : [];
  const meant = nearest(path[depth] ?? "", known);
  const hint =
    meant === null
      ? `Known there: ${known.join(", ") || "nothing"}.`
      : `Did you mean ${printPath([...path.slice(0, depth), meant])}?`;
  return new BootError("not_found", `nothing is set at ${printPath(path)}`, hint);
}
