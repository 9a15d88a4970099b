/**
 * Deep equality of JSON values by own keys, whatever their order. Below `MAX_DEPTH` levels nothing is equal, so that a
 * cycle or a bomb proves nothing.
 */
const MAX_DEPTH = 64;

export function jsonEquals(a: unknown, b: unknown): boolean {
  return equalsWithin(MAX_DEPTH, a, b);
}

function equalsWithin(levels: number, a: unknown, b: unknown): boolean {
  if (!isContainer(a) || !isContainer(b)) return a === b;
  if (levels === 0 || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equalsWithin(levels - 1, a[key], b[key]))
  );
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
