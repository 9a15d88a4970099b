/**
 * A pure stream stage: the outputs of all pushes and of `finish`, concatenated, are the same for every way of cutting
 * the input. States are plain immutable data.
 */
export interface Transducer<In, Out, State> {
  start(): State;
  push(state: State, chunk: In): readonly [State, Out];
  /** The rest of the held text; the state must not be used again. */
  finish(state: State): Out;
}
