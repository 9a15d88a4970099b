/** Work that is done at once where it can be: the same answers, the same failures and the same order either way. */
import { describe, expect, test } from "vitest";
import { allOf, attempt, finishing, after as following, type NowOrLater } from "../../src/runtime/now-or-later.ts";

const FAILURE = new Error("it failed");

/** The same piece of work, done before it returns and after. */
const WORKS = [
  { when: "now", done: <T>(value: T): NowOrLater<T> => value, failing: throwing },
  {
    when: "later",
    done: <T>(value: T): NowOrLater<T> => Promise.resolve(value),
    failing: () => Promise.reject(FAILURE),
  },
] as const;

function throwing(): never {
  throw FAILURE;
}

/** What is due later has happened, or never will. */
async function outcomeOf(work: () => NowOrLater<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (thrown) {
    return thrown;
  }
}

describe("after", () => {
  test("a value at hand goes on before it returns, and is no promise", () => {
    expect(following(2, (value) => value + 1)).toBe(3);
  });

  test("a value that comes goes on when it is there, and not before", async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const heard: number[] = [];
    const gone = following(promise, (value) => heard.push(value));
    expect([gone instanceof Promise, heard]).toEqual([true, []]);
    resolve(2);
    await gone;
    expect(heard).toEqual([2]);
  });

  test.each(WORKS)("what follows may be done later, though its value is there $when", async ({ done }) => {
    expect(await following(done(2), (value) => Promise.resolve(value + 1))).toBe(3);
  });

  test("what follows a value at hand fails at once, and what follows one that comes fails later", async () => {
    expect(() => following(1, throwing)).toThrow(FAILURE);
    await expect(following(Promise.resolve(1), throwing)).rejects.toBe(FAILURE);
  });

  test("nothing follows what has failed", async () => {
    const followed: unknown[] = [];
    await expect(following(Promise.reject(FAILURE), (value) => followed.push(value))).rejects.toBe(FAILURE);
    expect(followed).toEqual([]);
  });
});

describe("allOf", () => {
  test("values at hand are there at once, in their order; so are none", () => {
    expect(allOf([1, 2, 3])).toEqual([1, 2, 3]);
    expect(allOf([])).toEqual([]);
  });

  test("one that comes is enough to wait; the order is the one given, not the one of arrival", async () => {
    const first = Promise.withResolvers<string>();
    const third = Promise.withResolvers<string>();
    const all = allOf([first.promise, "second", third.promise]);
    expect(all).toBeInstanceOf(Promise);
    third.resolve("third");
    await third.promise;
    first.resolve("first");
    expect(await all).toEqual(["first", "second", "third"]);
  });

  test("one that fails fails all of them, and a second failure is nobody's", async () => {
    const second = Promise.withResolvers<string>();
    const all = allOf(["first", second.promise, Promise.reject(FAILURE)]);
    await expect(all).rejects.toBe(FAILURE);
    // Were it unhandled, the whole test run would fail.
    second.reject(new Error("another"));
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe("attempt", () => {
  test("what succeeds needs no mending, now or later", async () => {
    const mended: unknown[] = [];
    const mend = (thrown: unknown) => mended.push(thrown);
    expect(attempt(() => 1, mend)).toBe(1);
    const coming = attempt(() => Promise.resolve(2), mend);
    expect(coming).toBeInstanceOf(Promise);
    expect(await coming).toBe(2);
    expect(mended).toEqual([]);
  });

  test("what is thrown is mended at once, and what is rejected later, each once", async () => {
    const mended: unknown[] = [];
    const mend = (thrown: unknown) => mended.push(thrown);
    expect(attempt<number>(throwing, mend)).toBe(1);
    const coming = attempt<number>(() => Promise.reject(FAILURE), mend);
    expect(mended).toHaveLength(1);
    expect(await coming).toBe(2);
    expect(mended).toEqual([FAILURE, FAILURE]);
  });

  test.each(WORKS)("a mend may take its time, or fail itself: failed $when", async ({ failing }) => {
    expect(await attempt<string>(failing, () => Promise.resolve("mended"))).toBe("mended");
    const worse = new Error("the mend failed too");
    const mend = (): never => {
      throw worse;
    };
    expect(await outcomeOf(() => attempt<string>(failing, mend))).toBe(worse);
  });
});

describe("finishing", () => {
  test("work that is done at once is released before it returns", () => {
    const order: string[] = [];
    const done = finishing(
      () => order.push("work"),
      () => order.push("release"),
    );
    expect([done, order]).toEqual([1, ["work", "release"]]);
  });

  test("work that takes longer keeps what it holds until it is done, and not longer", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const order: string[] = [];
    const coming = finishing(
      () => promise,
      () => order.push("release"),
    );
    const heard = following(coming, (value) => order.push(value));
    await Promise.resolve();
    expect(order).toEqual([]);
    resolve("done");
    await heard;
    expect(order).toEqual(["release", "done"]);
  });

  test.each(WORKS)(
    "what is held is released exactly once, and the result or failure is the work's: $when",
    async (work) => {
      let releases = 0;
      const release = () => {
        releases += 1;
      };
      expect(await outcomeOf(() => finishing(() => work.done("done"), release))).toBe("done");
      expect(releases).toBe(1);
      expect(await outcomeOf(() => finishing(work.failing, release))).toBe(FAILURE);
      expect(releases).toBe(2);
    },
  );

  test("a failure at once is thrown at once, after the release", () => {
    let releases = 0;
    const failing = () => finishing(throwing, () => (releases += 1));
    expect(failing).toThrow(FAILURE);
    expect(releases).toBe(1);
  });
});
