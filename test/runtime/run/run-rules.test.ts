import { expect, test } from "vitest";
import { RUN_STATUSES } from "../../../src/runtime/ports/store.ts";
import type { WriteVerdict } from "../../../src/runtime/ports/write-verdict.ts";
import { checkAppend, checkCancel, checkClaim, checkSeal, checkSetStatus } from "../../../src/runtime/run/run-rules.ts";
import { hashOf } from "../store-samples.ts";

const ENDED = ["completed", "failed", "cancelled"];
const codeOf = (verdict: WriteVerdict) => (typeof verdict === "string" ? verdict : verdict.code);
const head = { epoch: 2, seq: 5, hash: hashOf("5") };
const append = { epoch: 2, after: { seq: 5, hash: hashOf("5") }, count: 2, head: hashOf("7") };

test("an append continues the head under its epoch", () => {
  expect(checkAppend(head, append, null)).toBe("write");
  expect(checkAppend(head, { ...append, count: 0 }, null)).toBe("skip");
});

test("an append under another epoch or on another head is fenced", () => {
  for (const epoch of [1, 3]) expect(codeOf(checkAppend(head, { ...append, epoch }, null))).toBe("store.fenced");
  for (const after of [
    { seq: 4, hash: hashOf("5") },
    { seq: 6, hash: hashOf("5") },
    { seq: 5, hash: hashOf("other") },
  ]) {
    expect(codeOf(checkAppend(head, { ...append, after }, null))).toBe("store.fenced");
    expect(codeOf(checkAppend(head, { ...append, after, count: 0 }, append.head))).toBe("store.fenced");
  }
});

test("a repeated append is skipped, unless another epoch repeats it", () => {
  const repeated = { ...append, after: { seq: 3, hash: hashOf("3") }, head: hashOf("5") };
  expect(checkAppend(head, repeated, hashOf("5"))).toBe("skip");
  expect(codeOf(checkAppend(head, repeated, hashOf("other")))).toBe("store.fenced");
  expect(codeOf(checkAppend(head, { ...repeated, epoch: 1 }, hashOf("5")))).toBe("store.fenced");
});

test("an epoch only grows", () => {
  expect([1, 2, 3].map((epoch) => codeOf(checkClaim(head, epoch)))).toEqual(["store.fenced", "store.fenced", "write"]);
});

test.each(RUN_STATUSES)("%s: an ended run keeps its status and outcome", (status) => {
  const hasEnded = ENDED.includes(status);
  const next = status === "running" ? "queued" : "running";
  expect(checkSetStatus(status, status)).toBe("skip");
  expect(codeOf(checkSetStatus(status, next))).toBe(hasEnded ? "store.conflict" : "write");
  const sealed = hasEnded ? "FAILED_TIMEOUT" : null;
  expect(checkSeal(status, sealed, "FAILED_TIMEOUT")).toBe(hasEnded ? "skip" : "write");
  expect(codeOf(checkSeal(status, sealed, "INTERRUPTED"))).toBe(hasEnded ? "store.conflict" : "write");
  expect(checkCancel(status, null)).toBe(hasEnded ? "skip" : "write");
  expect(checkCancel(status, "anna")).toBe("skip");
});
