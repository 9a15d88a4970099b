/**
 * Properties draw from one fixed seed, so that a run of the tests can be repeated. `PROPERTY_SEED=7 npm test` draws
 * others; `PROPERTY_SEED=random` draws new ones every time, and a failure prints its seed.
 */
import fc from "fast-check";

const seed = Number(process.env["PROPERTY_SEED"]);
if (Number.isSafeInteger(seed)) fc.configureGlobal({ seed });
