/** `surety config get|set|unset|add|remove|schema`. */
import { isDeepStrictEqual } from "node:util";
import { BootError, usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { changeConfig } from "../config/change-config.ts";
import { type ConfigPath, parsePath, printPath, valueAt } from "../config/config-path.ts";
import { loadConfig } from "../config/load-config.ts";
import { findAddress } from "../gateway-access.ts";
import { nearest } from "../nearest.ts";

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
  summary: "set one value, or several at once; keeps the comments in the file",
  arguments: ["PATH VALUE|PATH=VALUE..."],
  examples: [
    "surety config set models.default moonshot:kimi-k1-128k",
    "surety config set gateway.port=8080 gateway.queue.max=20",
    'surety config set tools.shell.allow \'["ls", "cat"]\'',
    "surety config set agents.main.prompt '\"2 + 2\"'",
  ],
  async run(context) {
    const settings = await Promise.all(assignmentsIn(context.arguments).map(toSetting));
    await changeConfig(context.home, async (text) => {
      const { editConfig } = await import("../config/edit-config.ts");
      return settings.reduce((before, { path, value }) => editConfig(before, path, value) ?? notAnObject(path), text);
    });
    const { output, home } = context;
    const set = settings.map(({ path, value }) => ({ path: printPath(path), value }));
    const paths = set.map(({ path }) => path);
    output.result(set.length === 1 ? set[0] : { set }, () =>
      output.line(`${paths.join(", ")} ${paths.length === 1 ? "is" : "are"} set in ${home.configFile}`),
    );
    await remarkOnGateway(
      context,
      settings.map(({ path }) => path),
    );
  },
};

const unset: Action = {
  summary: "remove a value, so that its default applies",
  arguments: ["PATH"],
  examples: ["surety config unset gateway.port"],
  async run(context) {
    const { output, home } = context;
    const path = pathOf(context.arguments[0] ?? "");
    const name = printPath(path);
    await changeConfig(context.home, async (text) => {
      const { removeFromConfig } = await import("../config/edit-config.ts");
      const after = removeFromConfig(text, path);
      if (after !== null) return after;
      throw new BootError(
        "not_found",
        `${name} is not set in ${home.configFile}`,
        "Defaults apply where nothing is set; a list is changed with surety config add and remove.",
      );
    });
    output.result({ path: name }, () => output.line(`${name} is no longer set in ${home.configFile}`));
    await remarkOnGateway(context, [path]);
  },
};

const add: Action = {
  summary: "add values to a list",
  arguments: ["PATH", "VALUE..."],
  examples: ["surety config add tools.shell.allow touch mkdir", "surety config add tools.policy.allow http.get"],
  run: (context) => changeList(context, (list, values) => [...list, ...values.filter((value) => !holds(list, value))]),
};

const remove: Action = {
  summary: "remove values from a list",
  arguments: ["PATH", "VALUE..."],
  examples: ["surety config remove tools.shell.allow touch"],
  run: (context) =>
    changeList(context, (list, values, path) => {
      const absent = values.find((value) => !holds(list, value));
      if (absent === undefined) return list.filter((value) => !holds(values, value));
      throw new BootError("not_found", `${JSON.stringify(absent)} is not in ${path}`, `See surety config get ${path}.`);
    }),
};

const schema: Action = {
  summary: "print the JSON Schema of surety.json5",
  examples: ["surety config schema > surety.schema.json"],
  async run({ output }) {
    const { configSchema } = await import("../config/config-schema.ts");
    output.json(configSchema());
  },
};

export const command: Command = { actions: { get, set, unset, add, remove, schema } };

const SET_USAGE = "Write it as surety config set PATH VALUE, or PATH=VALUE for each of several.";
/** `path=value`; a key that holds `=` is quoted in its path. */
const ASSIGNMENT = /^((?:[^="[\]]|\["(?:[^"\\]|\\.)*"\])+)=(.*)$/s;

function assignmentsIn(words: readonly string[]): readonly (readonly [string, string])[] {
  const [first = "", second] = words;
  if (!ASSIGNMENT.test(first)) {
    if (second === undefined) throw usageError("VALUE is missing", SET_USAGE);
    if (words.length > 2) throw usageError(`unexpected argument ${words[2]}`, SET_USAGE);
    return [[first, second]];
  }
  return words.map((word) => {
    const [, path = "", value = ""] = ASSIGNMENT.exec(word) ?? [];
    if (path === "") throw usageError(`${word} is not PATH=VALUE`, SET_USAGE);
    return [path, value] as const;
  });
}

async function toSetting([pathText, valueText]: readonly [string, string]) {
  const path = pathOf(pathText);
  if (path.length === 0) throw usageError("PATH is empty", "Name the value to set, such as gateway.port.");
  return { path, value: await parseValue(valueText) };
}

function notAnObject(path: ConfigPath): never {
  throw new BootError(
    "config.invalid",
    `${printPath(path)} leads through a value that is not an object`,
    "Set that value as a whole.",
  );
}

type List = readonly unknown[];

const holds = (list: List, value: unknown): boolean => list.some((each) => isDeepStrictEqual(each, value));

/** The list in force, defaults included, is what is changed: afterwards all of it is written in the file. */
async function changeList(
  context: CommandContext,
  edit: (list: List, values: List, path: string) => List,
): Promise<void> {
  const { home, output } = context;
  const [pathText = "", ...texts] = context.arguments;
  const path = pathOf(pathText);
  const name = printPath(path);
  const config = await loadConfig(home.configFile);
  const list = valueAt(config, path);
  if (list === undefined) throw nothingAt(config, path);
  if (!Array.isArray(list)) throw usageError(`${name} is not a list`, `See surety config get ${name}.`);
  const value = edit(list, await Promise.all(texts.map(parseValue)), name);
  await changeConfig(context.home, async (text) => {
    const { editConfig } = await import("../config/edit-config.ts");
    return editConfig(text, path, value) ?? notAnObject(path);
  });
  output.result({ path: name, value }, () => output.line(`${name} is now ${JSON.stringify(value)}`));
  await remarkOnGateway(context, [path]);
}

async function remarkOnGateway({ home, output }: CommandContext, paths: readonly ConfigPath[]): Promise<void> {
  if ((await findAddress(home)) === null) return;
  const { needsRestart, pathsOf } = await import("../config/config-changes.ts");
  const later = pathsOf(paths.filter(needsRestart).map((path) => ({ path })));
  if (later.length > 0) output.remark(`Restart the gateway for ${later.join(", ")} to apply.`);
  else output.remark("The running gateway applies it within a second, to what begins from then on.");
}

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
