/** The three streams of a process, or what stands for them in a test. */

import type { OutputStream } from "../adapters/terminal/progress-printer.ts";
import type { InputStream } from "../adapters/terminal/terminal-approver.ts";

export interface Streams {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}
