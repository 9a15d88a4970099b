/** How much of a session a model is sent: the caps of O-6.1, in code points, and the token budget of T-3c. */
import { SHOWN_AGAIN } from "../../runtime/tools/format-tool-result.ts";

export interface ContextLimits {
  readonly messageChars: number;
  readonly summaryChars: number;
  readonly errorChars: number;
  readonly outputChars: number;
  /** Sum over all messages of the session. */
  readonly historyChars: number;
  /** Of the workspace's AGENTS.md; 0: it is not sent. */
  readonly agentFileChars: number;
  readonly recentTokens: number;
  readonly toolResultTokens: number;
  /** Of all tool descriptions. */
  readonly toolTokens: number;
  /** Of the summary of earlier turns. */
  readonly summaryTokens: number;
  /** Turns sent as messages at most; more are condensed. */
  readonly maxTurns: number;
}

/** The limits of an agent, by its id. */
export type LimitsOf = (agentId: string) => ContextLimits;

export const DEFAULT_LIMITS: ContextLimits = {
  messageChars: 1400,
  summaryChars: 220,
  ...SHOWN_AGAIN,
  historyChars: 12_000,
  agentFileChars: 4000,
  recentTokens: 2000,
  toolResultTokens: 500,
  toolTokens: 1500,
  summaryTokens: 800,
  maxTurns: 10,
};
