/** Turns texts into vectors, so that texts of like meaning are near each other. */
export interface Embedder {
  /** Which model, as `provider:model`. Vectors of different models are never compared. */
  readonly name: string;
  /** One vector per text, in their order, all of one length. Throws when the model cannot be used, or when the signal aborts. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly ArrayLike<number>[]>;
}
