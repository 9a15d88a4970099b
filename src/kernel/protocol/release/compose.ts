/** Two stages of one stream, as one. */
import type { Transducer } from "../../vocabulary/transducer.ts";

export interface ComposedState<First, Second> {
  readonly first: First;
  readonly second: Second;
}

export function compose<In, Between, First, Second>(
  first: Transducer<In, Between, First>,
  second: Transducer<Between, string, Second>,
): Transducer<In, string, ComposedState<First, Second>> {
  return {
    start: () => ({ first: first.start(), second: second.start() }),
    push(state, chunk) {
      const [firstState, between] = first.push(state.first, chunk);
      const [secondState, out] = second.push(state.second, between);
      return [{ first: firstState, second: secondState }, out];
    },
    finish(state) {
      const [secondState, out] = second.push(state.second, first.finish(state.first));
      return out + second.finish(secondState);
    },
  };
}
