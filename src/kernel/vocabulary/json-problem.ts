/**
 * The rules of `parseJson` for a value from another parser: its problem in the same words, or null. Nesting is bounded,
 * so a cycle is a problem too.
 */
import { isPlainObject } from "./bare-object.ts";
import { isSafeNumber } from "./parse-json.ts";

export function jsonProblem(value: unknown, maxDepth: number): string | null {
  return problemAt(value, 0, maxDepth);
}

function problemAt(value: unknown, depth: number, maxDepth: number): string | null {
  switch (typeof value) {
    case "boolean":
      return null;
    case "number":
      return isSafeNumber(value) ? null : "a number that does not fit";
    case "string":
      return value.isWellFormed() ? null : "a lone surrogate in a string";
    case "object":
      if (value === null) return null;
      if (depth >= maxDepth) return `nested deeper than ${maxDepth} levels`;
      return Array.isArray(value)
        ? arrayProblem(value, depth + 1, maxDepth)
        : objectProblem(value, depth + 1, maxDepth);
    default:
      return "not JSON";
  }
}

function arrayProblem(items: readonly unknown[], depth: number, maxDepth: number): string | null {
  for (const item of items) {
    const problem = problemAt(item, depth, maxDepth);
    if (problem !== null) return problem;
  }
  return null;
}

function objectProblem(object: object, depth: number, maxDepth: number): string | null {
  if (!isPlainObject(object)) return "not JSON";
  for (const key of Object.keys(object)) {
    const member: unknown = (object as Record<string, unknown>)[key];
    const problem = problemAt(key, depth, maxDepth) ?? problemAt(member, depth, maxDepth);
    if (problem !== null) return problem;
  }
  return null;
}
