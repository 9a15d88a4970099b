/** A fault of security.md: what is done to the real process, at a size, from a seed, and what came of it. */
import type { GatewayProgram } from "./gateway-program.ts";

export interface Staging {
  readonly program: GatewayProgram;
  readonly seed: number;
  readonly size: number;
  /** Whether being slow is a finding: not in a test, which a busy machine must not fail. */
  readonly judgesTime: boolean;
  /** Progress, a line at a time. */
  readonly say: (line: string) => void;
}

export interface Findings {
  /** What was counted and measured, in the order in which it is shown. */
  readonly figures: Readonly<Record<string, number | string>>;
  /** Empty when the gateway stood it. */
  readonly problems: readonly string[];
  /** What this machine lacks to stage it at all: nothing was shown then. */
  readonly notStaged?: string;
}

export interface Fault {
  readonly id: string;
  readonly title: string;
  /** What the size counts; the option that sets it is called so. */
  readonly unit: string;
  readonly fullSize: number;
  readonly shortSize: number;
  stage(staging: Staging): Promise<Findings>;
}
