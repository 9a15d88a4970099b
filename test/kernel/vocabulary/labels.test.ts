import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CLEAN_LABELS,
  CONFIDENTIALITIES,
  INTEGRITIES,
  isLatched,
  joinLabels,
  type Labels,
  UNTRUSTED_LABELS,
  USER_LABELS,
} from "../../../src/kernel/vocabulary/labels.ts";

const ALL: readonly Labels[] = INTEGRITIES.flatMap((integrity) =>
  CONFIDENTIALITIES.map((confidentiality) => ({ integrity, confidentiality })),
);

test("the orders run from trusted to untrusted, and from public to secret", () => {
  expect(INTEGRITIES).toEqual(["operator", "user", "untrusted"]);
  expect(CONFIDENTIALITIES).toEqual(["public", "private", "secret"]);
  expect(USER_LABELS).toEqual({ integrity: "user", confidentiality: "private" });
  expect(UNTRUSTED_LABELS).toEqual({ integrity: "untrusted", confidentiality: "public" });
});

// Nine labels: every law is tried on all of them.
describe("joinLabels is the join of a semilattice", () => {
  test("associative, commutative, idempotent, with clean labels as its neutral element", () => {
    for (const a of ALL) {
      expect(joinLabels(a, a)).toEqual(a);
      expect(joinLabels(a, CLEAN_LABELS)).toEqual(a);
      for (const b of ALL) {
        expect(joinLabels(a, b)).toEqual(joinLabels(b, a));
        for (const c of ALL) expect(joinLabels(joinLabels(a, b), c)).toEqual(joinLabels(a, joinLabels(b, c)));
      }
    }
  });

  test("each part is the worse of the two, on its own", () => {
    for (const a of ALL) {
      for (const b of ALL) {
        const joined = joinLabels(a, b);
        const ranks = (labels: Labels) => [
          INTEGRITIES.indexOf(labels.integrity),
          CONFIDENTIALITIES.indexOf(labels.confidentiality),
        ];
        expect(ranks(joined)).toEqual(ranks(a).map((rank, part) => Math.max(rank, ranks(b)[part] ?? 0)));
      }
    }
  });
});

describe("the latch", () => {
  test("is set by untrusted together with private or secret, and by nothing else", () => {
    expect(ALL.filter(isLatched)).toEqual([
      { integrity: "untrusted", confidentiality: "private" },
      { integrity: "untrusted", confidentiality: "secret" },
    ]);
  });

  test("is set in either order of what was seen, and nothing seen later opens it", () => {
    expect(isLatched(joinLabels(USER_LABELS, UNTRUSTED_LABELS))).toBe(true);
    expect(isLatched(joinLabels(UNTRUSTED_LABELS, USER_LABELS))).toBe(true);
    const history = fc.array(fc.constantFrom(...ALL), { maxLength: 12 });
    fc.assert(
      fc.property(history, (seen) => {
        const latched: boolean[] = [];
        let context = CLEAN_LABELS;
        for (const labels of seen) {
          context = joinLabels(context, labels);
          latched.push(isLatched(context));
        }
        expect(latched).toEqual([...latched].sort());
        const untrusted = seen.some(({ integrity }) => integrity === "untrusted");
        expect(isLatched(context)).toBe(untrusted && seen.some(({ confidentiality }) => confidentiality !== "public"));
      }),
    );
  });
});
