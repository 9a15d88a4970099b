/**
 * How the gateway compares its token. Timing is not measured: on a shared machine a test of it would prove nothing. The
 * source is read instead, so that a comparison by `===` turns this red.
 */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { createAdmission } from "../../../src/adapters/gateway/admission.ts";
import { verifies } from "../../requirements.ts";
import { ManualClock } from "./manual-clock.ts";

verifies(
  "O-5.1/constant-time",
  "the token is compared by timingSafeEqual over equal lengths, and in no other way",
  () => {
    const source = readFileSync(new URL("../../../src/adapters/gateway/admission.ts", import.meta.url), "utf8");
    expect(source.match(/timingSafeEqual\(/g)).toHaveLength(1);
    // An empty token is refused when the gateway starts; every other comparison of a token is timingSafeEqual's.
    const compared = source.match(/\b(?:token|candidate|given|expected) [!=]==? [^)]+/g);
    expect(compared).toEqual(['token === ""']);
    const rules = { allowedOrigins: [], listenHost: "127.0.0.1", clock: new ManualClock() };
    expect(() => createAdmission({ ...rules, token: "" })).toThrow("empty token");
  },
);
