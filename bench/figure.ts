/** A figure of the table, or a few that are measured together. */

import type { ChatRequestBody } from "../test/loopback/openai-server.ts";
import type { Child } from "./child.ts";
import type { Row } from "./row.ts";

export interface BenchWorld {
  readonly isQuick: boolean;
  readonly blocks: number;
  readonly model: Child;
  /** What a run's first request holds. */
  readonly opening: ChatRequestBody;
}

export interface Figure {
  readonly name: string;
  measure(world: BenchWorld): Promise<readonly Row[]>;
}
