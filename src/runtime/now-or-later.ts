/**
 * Work that is done at once where it can be, and waited for where it must be. A run's turn is made of a dozen small
 * steps that need nobody else: to wait for each would let all other runs go first, and forget what is at hand.
 */
export type NowOrLater<T> = T | Promise<T>;

export function after<T, Result>(value: NowOrLater<T>, next: (value: T) => NowOrLater<Result>): NowOrLater<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

export function allOf<T>(values: readonly NowOrLater<T>[]): NowOrLater<readonly T[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[]);
}

/** `mend` answers for whatever is thrown, now or later. */
export function attempt<T>(work: () => NowOrLater<T>, mend: (thrown: unknown) => NowOrLater<T>): NowOrLater<T> {
  try {
    const done = work();
    return done instanceof Promise ? done.catch(mend) : done;
  } catch (thrown) {
    return mend(thrown);
  }
}

/** `release` follows, whether the work is done or has failed. */
export function finishing<T>(work: () => NowOrLater<T>, release: () => void): NowOrLater<T> {
  let isLater = false;
  try {
    const done = work();
    isLater = done instanceof Promise;
    return done instanceof Promise ? done.finally(release) : done;
  } finally {
    if (!isLater) release();
  }
}
