/**
 * The path to a value of the config: `gateway.port`, `models.providers.x.models["gpt-4.1"].tier`, `exceptions.0`.
 * `parsePath(printPath(p))` is p, for every path of strings.
 */
export type ConfigPath = readonly string[];

const STEP = /(?:^|(?<!^)\.)([^.[\]"\s]+)|\[("(?:[^"\\]|\\.)*"|[0-9]+)\]/y;
const PLAIN = /^[^.[\]"\s\p{C}]+$/u;

/** Null when the text is not a path. */
export function parsePath(text: string): ConfigPath | null {
  const path: string[] = [];
  let at = 0;
  while (at < text.length) {
    STEP.lastIndex = at;
    const match = STEP.exec(text);
    const step = match === null ? null : (match[1] ?? unquote(match[2] ?? ""));
    if (match === null || step === null) return null;
    path.push(step);
    at = STEP.lastIndex;
  }
  return path;
}

export function printPath(path: ConfigPath): string {
  return path.reduce((text, step) => {
    if (!PLAIN.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

/** Undefined when nothing is there. */
export function valueAt(root: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>((value, step) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    return (value as Readonly<Record<string, unknown>>)[step];
  }, root);
}

function unquote(step: string): string | null {
  if (!step.startsWith('"')) return step;
  try {
    return JSON.parse(step) as string;
  } catch {
    return null;
  }
}
