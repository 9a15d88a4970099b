import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { derive } from "./random.ts";

const draws = (seed: number, ...labels: (string | number)[]): readonly number[] => {
  const random = derive(seed, ...labels);
  return Array.from({ length: 20 }, () => random.below(1_000_000));
};

describe("chance out of a seed", () => {
  test("the same seed and question give the same draws, whatever was drawn elsewhere", () => {
    fc.assert(
      fc.property(fc.nat(), fc.string(), fc.string(), (seed, asked, other) => {
        const first = draws(seed, asked);
        draws(seed, other);
        expect(draws(seed, asked)).toEqual(first);
      }),
    );
  });

  test("other seeds and other questions give other draws", () => {
    const streams = [
      draws(1),
      draws(2),
      draws(1, "a"),
      draws(1, "b"),
      draws(1, "a", "b"),
      draws(1, "ab"),
      draws(1, "a", 1),
      draws(11),
    ];
    expect(new Set(streams.map(String)).size).toBe(streams.length);
  });

  test("draws stay within their bounds and reach both", () => {
    const random = derive(7, "bounds");
    const seen = Array.from({ length: 500 }, () => random.between(3, 6));
    expect([...new Set(seen)].sort()).toEqual([3, 4, 5, 6]);
    expect(
      Array.from({ length: 500 }, () => random.below(2))
        .sort()
        .at(-1),
    ).toBe(1);
    expect(random.between(5, 5)).toBe(5);
  });

  test("a chance of none never comes, of a hundred always, of a half about half the time", () => {
    const random = derive(7, "chance");
    const count = (percent: number): number =>
      Array.from({ length: 2_000 }, () => random.chance(percent)).filter(Boolean).length;
    expect(count(0)).toBe(0);
    expect(count(100)).toBe(2_000);
    expect(count(50)).toBeGreaterThan(900);
    expect(count(50)).toBeLessThan(1_100);
  });

  test("weights are kept, and what weighs nothing never comes", () => {
    const random = derive(7, "weights");
    const drawn = Array.from({ length: 3_000 }, () => random.weigh({ never: 0, rare: 1, often: 9 }));
    const rare = drawn.filter((choice) => choice === "rare").length;
    expect(drawn).not.toContain("never");
    expect(rare).toBeGreaterThan(200);
    expect(rare).toBeLessThan(400);
  });

  test("every choice of a list is picked", () => {
    const random = derive(7, "pick");
    const drawn = Array.from({ length: 200 }, () => random.pick(["a", "b", "c"]));
    expect([...new Set(drawn)].sort()).toEqual(["a", "b", "c"]);
  });
});
