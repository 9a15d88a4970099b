/**
 * How the gateway compares its token. Timing is not measured: on a shared machine a test of it would prove nothing. The
 * source is read instead, so that a comparison by `===` turns this red.
 */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { verifies } from "../../requirements.ts";

verifies(
  "O-5.1/constant-time",
  "the token is compared by timingSafeEqual over equal lengths, and in no other way",
  () => {
    const read = (path: string) => readFileSync(new URL(`../../../src/${path}`, import.meta.url), "utf8");
    const source = read("runtime/access/access.ts");
    expect(source.match(/timingSafeEqual\(/g)).toHaveLength(1);
    // An empty token is refused when the home is opened; every other comparison of a token is timingSafeEqual's.
    const compared = `${source}${read("adapters/gateway/admission.ts")}`.match(
      /\b(?:token|candidate|given|expected|secret|digest) [!=]==? (?!null)[^) ]+/g,
    );
    expect(compared).toEqual(['token === ""', 'token === ""']);
  },
);
