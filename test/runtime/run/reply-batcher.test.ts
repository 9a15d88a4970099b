import { expect, test } from "vitest";
import { ReplyBatcher } from "../../../src/runtime/run/reply-batcher.ts";

/** A clock whose turn ends when the test says so. */
function turnsByHand() {
  const callbacks: (() => void)[] = [];
  return {
    clock: { afterThisTurn: (callback: () => void) => callbacks.push(callback) },
    endTurn: () => {
      for (const callback of callbacks.splice(0)) callback();
    },
  };
}

const microtasks = async () => {
  for (let count = 0; count < 20; count += 1) await Promise.resolve();
};

test("a reply that comes alone is not delayed", async () => {
  const { clock } = turnsByHand();
  expect(await new ReplyBatcher(clock).batch(() => Promise.resolve("alone"))).toBe("alone");
});

test("replies of one turn are released together when it ends, failures at once", async () => {
  const { clock, endTurn } = turnsByHand();
  const replies = new ReplyBatcher(clock);
  const released: string[] = [];
  const still = Promise.withResolvers<string>();
  const calls = [Promise.resolve("one"), Promise.resolve("two"), still.promise].map((reply) =>
    replies.batch(() => reply).then((text) => released.push(text)),
  );
  await expect(replies.batch(() => Promise.reject(new Error("lost")))).rejects.toThrow("lost");
  await microtasks();
  expect(released).toEqual([]);
  endTurn();
  await microtasks();
  expect(released).toEqual(["one", "two"]);
  still.resolve("three");
  await Promise.all(calls);
  expect(released).toEqual(["one", "two", "three"]);
});
