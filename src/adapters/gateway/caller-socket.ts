/** What a connection knows of its two ends. */
export interface CallerSocket {
  /** The address that was dialled. */
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
}
