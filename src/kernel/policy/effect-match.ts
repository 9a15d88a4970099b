/**
 * Effect proof: which of the effects a contract requires would this call prove, if it is executed and succeeds?
 *
 * E1. An effect names a tool pattern and, optionally, arguments. It is met when the pattern matches the tool and
 *     every argument it names is present in the call and deeply equal. Arguments it does not name are free.
 * E2. A value means equality, at every depth: there are no wildcards, ranges or partial objects.
 * E3. Own keys only: an argument that a call merely inherits is absent.
 * E4. Indexes come in ascending order; one call may prove several effects.
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
