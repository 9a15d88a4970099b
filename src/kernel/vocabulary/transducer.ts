/**
 * A pure stream stage: what arrives in chunks leaves in chunks, and nothing depends on where the cuts are.
 *
 * T1. The outputs of all pushes and of `finish`, concatenated, are the same for every way of cutting the input.
 * T2. States are plain immutable data: pushing twice from one state gives the same answer twice.
 */
export interface Transducer<In, Out, State> {
  start(): State;
  push(state: State, chunk: In): readonly [State, Out];
  /** The rest of the held text; the state must not be used again. */
  finish(state: State): Out;
}
