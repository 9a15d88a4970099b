import fc from "fast-check";
import { expect, test } from "vitest";
import {
  amountToCount,
  amountToReserve,
  findExceededScope,
  settlementChange,
} from "../../../src/runtime/spend/spend-rules.ts";

const anyAmount = fc.record({ microusd: fc.nat({ max: 1000 }), tokens: fc.nat({ max: 1000 }) });
const anyLimit = fc.option(fc.nat({ max: 1500 }));
const anyScope = fc.record({
  scope: fc.record({
    scope: fc.constantFrom("all", "agent:main"),
    period: fc.constant("ever"),
    limitMicrousd: anyLimit,
    limitTokens: anyLimit,
  }),
  total: anyAmount,
});

test("a granted amount takes no total past its limit, and a refused one would take the named scope past it", () => {
  fc.assert(
    fc.property(fc.array(anyScope, { maxLength: 4 }), anyAmount, (scopes, amount) => {
      const exceeded = findExceededScope(scopes, amount);
      const passes = scopes.filter(
        ({ scope: { limitMicrousd, limitTokens }, total }) =>
          total.microusd + amount.microusd > (limitMicrousd ?? Number.POSITIVE_INFINITY) ||
          total.tokens + amount.tokens > (limitTokens ?? Number.POSITIVE_INFINITY),
      );
      expect(exceeded?.scope).toBe(passes[0]?.scope.scope);
      if (exceeded !== null) expect(exceeded.needed).toBeGreaterThan(exceeded.left);
    }),
  );
});

test("repeating or raising a reservation counts the difference; a settled attempt counts nothing more", () => {
  fc.assert(
    fc.property(anyAmount, anyAmount, (reserved, wanted) => {
      const added = amountToReserve({ ...reserved, isSettled: false }, wanted) ?? { microusd: 0, tokens: 0 };
      expect(reserved.microusd + added.microusd).toBe(Math.max(reserved.microusd, wanted.microusd));
      expect(reserved.tokens + added.tokens).toBe(Math.max(reserved.tokens, wanted.tokens));
      expect(amountToReserve(null, wanted)).toEqual(wanted);
      expect(amountToReserve({ ...reserved, isSettled: true }, wanted)).toBeNull();
    }),
  );
});

test("settling replaces the reserved amount by the true one, once", () => {
  const reserved = { microusd: 10, tokens: 5 };
  expect(settlementChange({ ...reserved, isSettled: false }, { microusd: 4, tokens: 9 })).toEqual({
    microusd: -6,
    tokens: 4,
  });
  expect(settlementChange({ ...reserved, isSettled: true }, reserved)).toBeNull();
  expect(settlementChange(null, reserved)).toBeNull();
});

test("what settled reservations counted is not counted again", () => {
  expect(amountToCount(null, { microusd: -5, tokens: 0 })).toEqual({ microusd: -5, tokens: 0 });
  expect(amountToCount({ microusd: 60, tokens: 6 }, { microusd: 100, tokens: 4 })).toEqual({ microusd: 40, tokens: 0 });
  expect(amountToCount({ microusd: 60, tokens: 6 }, { microusd: 60, tokens: 2 })).toBeNull();
});
