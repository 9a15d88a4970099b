/**
 * The configuration as the gateway's clients read and change it (T-1.2, O-6.2).
 *
 * C1. A change is checked as a whole, with everything made that follows from it, before anything is written.
 * C2. Changes go one after the other; one that names an ETag which is no longer the file's is refused.
 * C3. What holds a secret is blank in what is read. A blank that comes back leaves the value as it is.
 */
import { isNamedIn } from "../../adapters/gateway/reply.ts";
import type {
  ChangeRequest,
  ConfigChange,
  Configuration,
  MissingVariable,
} from "../../assistant/configuration/operations.ts";
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import { type Caller, type Result, refuse } from "../../runtime/operations/operation.ts";
import type { RandomBytes } from "../../runtime/ports/randomness.ts";
import { BootError, systemCodeOf } from "../boot-error.ts";
import type { Config } from "../config/config.ts";
import {
  applicable,
  type Difference,
  differences,
  isObject,
  needsRestart,
  own,
  pathsOf,
} from "../config/config-changes.ts";
import { printPath } from "../config/config-path.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import { DEFAULT_CONFIG } from "../config/default-config.ts";
import { readConfigText } from "../config/load-config.ts";
import { apiKeyName, resolveApiKey } from "../config/resolve-api-key.ts";
import { replaceFile } from "../durable-file.ts";
import type { ReadVariable } from "../environment.ts";
import type { Home } from "../home.ts";
import type { Settings } from "../settings.ts";

export interface ConfigurationParts {
  readonly home: Home;
  readonly random: RandomBytes;
  /** What applies now. */
  readonly settings: () => Settings;
  /** The environment with `.env` as it is by now. */
  readonly readVariables: () => Promise<ReadVariable>;
  /** Whether a text holds a secret. */
  readonly isSecret: (text: string) => boolean;
  /** Makes all that follows from the settings, or throws; what it returns puts them in force. */
  readonly prepare: (settings: Settings) => (change: AppliedChange) => Promise<void>;
}

export interface AppliedChange {
  readonly paths: readonly string[];
  /** Of the whole config after the change, with what waits for a restart. */
  readonly config: Config;
  readonly by: string;
  /** After the record of it, and before it is in force. */
  readonly write: () => Promise<void>;
}

type Problems = ConfigChange["problems"];

export function openConfiguration(parts: ConfigurationParts): Configuration {
  let last: Promise<unknown> = Promise.resolve();
  return {
    read: () => readDocument(parts),
    schema: async () => (await import("../config/config-schema.ts")).configSchema(),
    change: (request, caller) => {
      const done = last.then(() => change(parts, request, caller));
      last = done.catch(() => {});
      return done;
    },
  };
}

async function readDocument({ home, settings, isSecret }: ConfigurationParts): Promise<Result<object>> {
  const text = await readConfigText(home.configFile);
  const read = text === null ? null : (await import("../config/read-config.ts")).readConfig(text, home.configFile);
  // A file that cannot be used is not what applies.
  const config = read === null ? DEFAULT_CONFIG : read.ok ? read.config : settings().config;
  return { ok: true, value: withBlanks(config, isSecret) as object, etag: etagOf(text) };
}

async function change(
  parts: ConfigurationParts,
  request: ChangeRequest,
  { principal, ifMatch = null }: Pick<Caller, "principal" | "ifMatch">,
): Promise<Result<ConfigChange>> {
  const { home, settings, isSecret, random } = parts;
  const [{ readConfig }, { EMPTY_CONFIG, mergePatch, rewriteConfig }] = await Promise.all([
    import("../config/read-config.ts"),
    import("../config/rewrite-config.ts"),
  ]);
  const { configFile: file } = home;
  const text = await readConfigText(file);
  if (ifMatch !== null && !isNamedIn(ifMatch, etagOf(text))) return CHANGED_MEANWHILE;
  const old = readConfig(text ?? EMPTY_CONFIG, file);
  if (!old.ok) return invalidFile(old.problems);
  const given = "patch" in request ? mergePatch(old.config, request.patch) : request.document;
  const rewritten = rewriteConfig(text ?? EMPTY_CONFIG, old.config, withoutBlanks(given, old.config, isSecret), file);
  if (!rewritten.ok) return refused(request, rewritten.problems.map(problemOf));
  const next = rewritten.config;
  const changed = differences(old.config, next);
  const paths = pathsOf(changed);
  let answer: ConfigChange;
  let apply: ReturnType<ConfigurationParts["prepare"]>;
  try {
    const readVariable = await parts.readVariables();
    answer = describe(changed, next, readVariable, isSecret);
    apply = parts.prepare({ config: applicable(next, settings().config), readVariable });
  } catch (error) {
    if (!(error instanceof BootError)) throw error;
    return refused(request, [{ path: "", message: `${error.message}. ${error.hint}`.trim() }]);
  }
  if (request.isCheck || changed.length === 0) return { ok: true, value: answer };
  const write = (): Promise<void> => replaceFile(file, rewritten.text, random);
  try {
    await apply({ paths, config: next, by: principal, write });
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === null) throw error;
    return refuse("store.unavailable", `The config file cannot be written (${code}), so nothing was changed.`);
  }
  return { ok: true, value: answer, etag: etagOf(rewritten.text) };
}

function describe(
  changed: readonly Difference[],
  config: Config,
  readVariable: ReadVariable,
  isSecret: (text: string) => boolean,
): ConfigChange {
  const shown = (value: unknown): unknown => (value === undefined ? null : withBlanks(value, isSecret));
  return {
    problems: [],
    changes: changed.map(({ path, before, after }) => ({
      ...{ path: printPath(path), before: shown(before), after: shown(after) },
    })),
    applied: pathsOf(changed.filter(({ path }) => !needsRestart(path))),
    restart_required: pathsOf(changed.filter(({ path }) => needsRestart(path))),
    missing: [...missingVariables(config, readVariable)],
  };
}

/** The keys of enabled providers that are not there. */
export function missingVariables(config: Config, readVariable: ReadVariable): readonly MissingVariable[] {
  const { envFile: file = ".env in the home" } = readVariable;
  return Object.entries(config.models.providers).flatMap(([id, provider]) => {
    const variable = apiKeyName(id, provider);
    if (!provider.enabled || readVariable(variable) !== undefined) return [];
    if (resolveApiKey(id, provider, readVariable).ok) return [];
    return [{ path: printPath(["models", "providers", id]), variable, line: `${variable}=…`, file }];
  });
}

function refused({ isCheck }: ChangeRequest, problems: Problems): Result<ConfigChange> {
  if (isCheck) {
    return { ok: true, value: { problems, changes: [], applied: [], restart_required: [], missing: [] } };
  }
  const [first] = problems;
  const where = first === undefined || first.path === "" ? "" : `${first.path} `;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  const message = `${where}${first?.message ?? "The config is invalid"}${more} Nothing was changed.`;
  return { ...refuse("invalid.request", message), problems };
}

function problemOf({ path, what, hint }: ConfigProblem): Problems[number] {
  return { path, message: `${what}. ${hint}` };
}

const CHANGED_MEANWHILE = refuse(
  "conflict",
  "The config has changed since it was read, so nothing was changed. Read it again.",
);

function invalidFile([first]: readonly ConfigProblem[]) {
  const why = first === undefined ? "" : ` ${first.message}. ${first.hint}`;
  return refuse("conflict", `The config file cannot be used as it is, so nothing was changed.${why}`);
}

function etagOf(text: string | null): string {
  return `"${hashBytes(text ?? "").slice(0, 22)}"`;
}

function withBlanks(value: unknown, isSecret: (text: string) => boolean): unknown {
  if (typeof value === "string") return isSecret(value) ? "" : value;
  if (Array.isArray(value)) return value.map((each) => withBlanks(each, isSecret));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withBlanks(inner, isSecret)]));
}

/** What was blank in `shown` and is so still. */
function withoutBlanks(value: unknown, shown: unknown, isSecret: (text: string) => boolean): unknown {
  if (value === "") return typeof shown === "string" && isSecret(shown) ? shown : value;
  if (Array.isArray(value) && Array.isArray(shown)) {
    return value.map((each, index) => withoutBlanks(each, shown[index], isSecret));
  }
  if (!isObject(value) || !isObject(shown)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withoutBlanks(inner, own(shown, key), isSecret)]),
  );
}
