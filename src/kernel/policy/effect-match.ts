/**
 * Effect proof: which of the effects a contract requires would this call prove, if it succeeds? Every argument
 * that an effect names must be an own argument of the call and deeply equal; there are no wildcards, ranges or partial
 * objects.
 */
import { jsonEquals } from "./json-equals.ts";
import { matchesTool } from "./tool-pattern.ts";

type Arguments = Readonly<Record<string, unknown>>;

export function provenEffects(
  requiredEffects: readonly { readonly tool: string; readonly args?: Arguments | undefined }[],
  call: { readonly tool: string; readonly args: Arguments },
): number[] {
  return requiredEffects.flatMap((effect, index) =>
    matchesTool(effect.tool, call.tool) && hasArguments(call.args, effect.args ?? {}) ? [index] : [],
  );
}

function hasArguments(args: Arguments, expected: Arguments): boolean {
  return Object.keys(expected).every((name) => Object.hasOwn(args, name) && jsonEquals(args[name], expected[name]));
}
