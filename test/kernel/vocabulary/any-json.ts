import fc from "fast-check";

/** Any code point but surrogates, half of them below U+0100. fast-check's own "binary" takes over a second to set up. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0x10ffff - 0x800 }))
  .map((ordinal) => String.fromCodePoint(ordinal < 0xd800 ? ordinal : ordinal + 0x800));

/** Any JSON value with any well-formed strings, for keys too. */
export const anyJson: fc.Arbitrary<unknown> = fc.jsonValue({ stringUnit: anyCharacter });

/** Few values with much in common: two of them are often equal, or nearly so. */
export const anySmallJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, 0, 1, "", "1", "a,b", '"'),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b", "10", "9"), tie("value"), { maxKeys: 2 }),
  ),
})).value;

/** Equal as JSON: prototypes and the order of keys do not count. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  const has = (key: string) =>
    Object.hasOwn(b, key) && sameJson((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]);
  return keys.length === Object.keys(b).length && keys.every(has);
}

/** The same value with the keys of every object in reverse. */
export function reverseKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(reverseKeys);
  const reversed = Object.entries(value).reverse();
  return Object.fromEntries(reversed.map(([key, inner]) => [key, reverseKeys(inner)]));
}
