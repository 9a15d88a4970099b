import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CallPlan, hashPlan } from "../../../src/kernel/policy/plan.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import { hashBytes, hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { asBodyRef, asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { CONFIDENTIALITIES, INTEGRITIES } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import { anyCharacter } from "../vocabulary/any-json.ts";

const plan: CallPlan = {
  tool: "shell.exec",
  argsRef: asBodyRef(hashBytes("args")),
  argv: ["git", "status"],
  cwd: { path: "/w", device: "64768", inode: "18446744073709551615" },
  environmentHash: hashBytes("env A"),
  executable: { path: "/usr/bin/git", hash: hashBytes("git") },
  scriptHashes: [hashBytes("one"), hashBytes("two")],
  targets: ["/w"],
  labels: { integrity: "user", confidentiality: "private" },
  sessionId: asSessionId("s1"),
  contractHash: hashBytes("contract"),
};

/** At least one change for each field, and for each field of a field. */
const CHANGES: Readonly<Record<keyof CallPlan, readonly Partial<CallPlan>[]>> = {
  tool: [{ tool: "shell.exec2" }],
  argsRef: [{ argsRef: asBodyRef(hashBytes("other")) }],
  argv: [
    { argv: ["git", "-c", "core.pager=id", "status"] },
    { argv: ["status", "git"] },
    { argv: ["git status"] },
    { argv: ["git", "status", ""] },
    { argv: [] },
  ],
  cwd: [
    { cwd: null },
    { cwd: { path: "/w2", device: "64768", inode: "18446744073709551615" } },
    { cwd: { path: "/w", device: "64769", inode: "18446744073709551615" } },
    { cwd: { path: "/w", device: "64768", inode: "18446744073709551614" } },
  ],
  environmentHash: [{ environmentHash: hashBytes("env B") }],
  executable: [
    { executable: null },
    { executable: { path: "/tmp/git", hash: hashBytes("git") } },
    { executable: { path: "/usr/bin/git", hash: hashBytes("not git") } },
  ],
  scriptHashes: [
    { scriptHashes: [] },
    { scriptHashes: [hashBytes("two"), hashBytes("one")] },
    { scriptHashes: [hashBytes("one"), hashBytes("changed")] },
  ],
  targets: [{ targets: ["/w", "/etc"] }, { targets: [] }],
  labels: [
    { labels: { integrity: "untrusted", confidentiality: "private" } },
    { labels: { integrity: "user", confidentiality: "secret" } },
  ],
  sessionId: [{ sessionId: asSessionId("s2") }],
  contractHash: [{ contractHash: hashBytes("another contract") }],
};

const anyHash = fc.string().map((text) => hashBytes(text));
/** Also what would end a string, a list or an object too soon. */
const anyText = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: anyCharacter }),
  fc
    .array(fc.constantFrom('"', "\\", '","', '"],"argv":["', '"},"version":2', "\n", "\0", "\u2028", "a"))
    .map((pieces) => pieces.join("")),
);
const anyPlan: fc.Arbitrary<CallPlan> = fc.record({
  tool: anyText,
  argsRef: anyHash.map(asBodyRef),
  argv: fc.array(anyText),
  cwd: fc.option(fc.record({ path: anyText, device: anyText, inode: anyText })),
  environmentHash: anyHash,
  executable: fc.option(fc.record({ path: anyText, hash: anyHash })),
  scriptHashes: fc.array(anyHash),
  targets: fc.array(anyText),
  labels: fc.record({
    integrity: fc.constantFrom(...INTEGRITIES),
    confidentiality: fc.constantFrom(...CONFIDENTIALITIES),
  }),
  sessionId: anyText.map(asSessionId),
  contractHash: anyHash,
});

describe("hashPlan", () => {
  test("a text with half a character is a defect, wherever it stands", () => {
    const half = "a\ud800";
    const halves: readonly Partial<CallPlan>[] = [
      { tool: half },
      { argv: ["git", half] },
      { cwd: { path: half, device: "1", inode: "1" } },
      { executable: { path: half, hash: hashBytes("git") } },
      { targets: [half] },
      { sessionId: asSessionId(half) },
    ];
    for (const change of halves) expect(() => hashPlan({ ...plan, ...change })).toThrow(Defect);
  });

  verifies("X-12", "any single changed field of a plan changes its hash", () => {
    const changes = Object.values(CHANGES).flat();
    const hashes = [plan, ...changes.map((change) => ({ ...plan, ...change }))].map(hashPlan);
    expect(new Set(hashes).size).toBe(1 + changes.length);
  });

  verifies(
    "X-12",
    "a plan that takes one field from another plan has the hash of neither, unless the field is the same",
    () => {
      const fields = Object.keys(CHANGES) as (keyof CallPlan)[];
      fc.assert(
        fc.property(anyPlan, anyPlan, fc.constantFrom(...fields), (a, b, field) => {
          const isSame = hashCanonical(a[field]) === hashCanonical(b[field]);
          expect(hashPlan({ ...a, [field]: b[field] }) === hashPlan(a)).toBe(isSame);
        }),
      );
    },
  );

  test("the order in which a plan was put together does not matter", () => {
    fc.assert(
      fc.property(anyPlan, (made) => {
        const backwards = Object.fromEntries(Object.entries(made).reverse()) as unknown as CallPlan;
        expect(hashPlan(backwards)).toBe(hashPlan(structuredClone(made)));
      }),
    );
  });

  test("a plan's hash is not the hash of its bare fields", () => {
    expect(hashPlan(plan)).toMatch(/^[0-9a-f]{64}$/);
    expect(hashPlan(plan)).not.toBe(hashCanonical(plan));
  });

  test("a plan's hash never changes with this code: an approval may wait across an upgrade", () => {
    expect(hashPlan(plan)).toBe("849cccf8c1a1b675c3423aff2666a9dc6a673a3bc6048667183925e3274da7e5");
  });
});
