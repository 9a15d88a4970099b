import { expect, test } from "vitest";
import { MAX_PENDING_CAPABILITIES } from "../../../src/kernel/protocol/checkpoint-state.ts";
import { checkDecideCapability, checkRequestCapability } from "../../../src/runtime/capabilities/capability-rules.ts";
import type { CapabilityState, StoredCapability } from "../../../src/runtime/ports/stored-capability.ts";
import type { WriteVerdict } from "../../../src/runtime/ports/write-verdict.ts";

const NOW = "2026-11-18T12:00:00.000Z";
const STATES: readonly CapabilityState[] = ["pending", "granted", "denied", "revoked", "forged"];
const at = (state: CapabilityState, expiresAt: string | null = null): StoredCapability =>
  ({ capability: "net:a.example", state, by: "operator", at: NOW, expiresAt, runId: null }) as StoredCapability;
const codeOf = (verdict: WriteVerdict) => (typeof verdict === "string" ? verdict : verdict.code);

test("a request is recorded unless it is pending or granted, or too many are pending", () => {
  const verdicts = STATES.map((state) => checkRequestCapability(at(state), 0, NOW));
  expect(verdicts).toEqual(["skip", "skip", "write", "write", "write"]);
  expect(checkRequestCapability(null, MAX_PENDING_CAPABILITIES - 1, NOW)).toBe("write");
  expect(checkRequestCapability(null, MAX_PENDING_CAPABILITIES, NOW)).toBe("skip");
});

test("an expired grant may be requested again", () => {
  expect(checkRequestCapability(at("granted", "2026-11-18T12:00:00.001Z"), 0, NOW)).toBe("skip");
  expect(checkRequestCapability(at("granted", NOW), 0, NOW)).toBe("write");
});

test.each([
  ["capability.granted", ["pending", "granted", "denied", "revoked", "forged"]],
  ["capability.denied", ["pending"]],
  ["capability.revoked", ["granted", "forged"]],
] as const)("%s is decided in these states only, with a fresh nonce", (kind, allowed: readonly CapabilityState[]) => {
  const mayDecide = STATES.filter((state) => checkDecideCapability(kind, at(state), false) === "write");
  expect(mayDecide).toEqual(STATES.filter((state) => allowed.includes(state)));
  expect(codeOf(checkDecideCapability(kind, null, false))).toBe(
    kind === "capability.granted" ? "write" : "store.conflict",
  );
  for (const state of STATES) expect(codeOf(checkDecideCapability(kind, at(state), true))).toBe("store.conflict");
});
