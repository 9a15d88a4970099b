import type { Transducer } from "../../../../src/kernel/vocabulary/transducer.ts";

/** All outputs of one pass, `finish` last. */
export function outputs<In, State>(stage: Transducer<In, string, State>, chunks: readonly In[]): readonly string[] {
  let state = stage.start();
  const out: string[] = [];
  for (const chunk of chunks) {
    const [next, text] = stage.push(state, chunk);
    state = next;
    out.push(text);
  }
  out.push(stage.finish(state));
  return out;
}

export function pass<In, State>(stage: Transducer<In, string, State>, chunks: readonly In[]): string {
  return outputs(stage, chunks).join("");
}

interface Sliceable<Whole> {
  readonly length: number;
  slice(start: number, end: number): Whole;
}

/** The pieces between the given cuts, which may come in any order and repeat. */
export function cutAt<Whole extends Sliceable<Whole>>(whole: Whole, cuts: readonly number[]): Whole[] {
  const edges = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length];
  return edges.slice(1).map((edge, index) => whole.slice(edges[index] as number, edge));
}

/** Every way of cutting in two, and the one into single units. */
export function everyCut<Whole extends Sliceable<Whole>>(whole: Whole): Whole[][] {
  const positions = Array.from({ length: whole.length + 1 }, (_, at) => at);
  return [...positions.map((at) => cutAt(whole, [at])), cutAt(whole, positions)];
}

/** Every way of cutting at all: 2^(length-1) of them. */
export function everyPartition<Whole extends Sliceable<Whole>>(whole: Whole): Whole[][] {
  const inner = Math.max(0, whole.length - 1);
  return Array.from({ length: 2 ** inner }, (_, mask) =>
    cutAt(
      whole,
      Array.from({ length: inner }, (_, at) => at + 1).filter((at) => (mask >> (at - 1)) & 1),
    ),
  );
}

/** Bytes of UTF-8 to text, piece by piece, as the readers of model answers decode them. */
export function decoded(chunks: readonly Uint8Array[]): readonly string[] {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return [...chunks.map((chunk) => decoder.decode(chunk, { stream: true })), decoder.decode()];
}
