/**
 * What one command may use up. Processes are counted over all of it; the rest is of each process, for that is what an
 * ordinary user can limit (docs/sandbox.md).
 */
export interface SandboxLimits {
  readonly cpuSeconds: number;
  /** Memory it writes to. It may reserve `RESERVED_PER_USED` times as much: many runtimes reserve what they never touch. */
  readonly memoryBytes: number;
  readonly fileBytes: number;
  readonly processes: number;
  readonly openFiles: number;
  /** Of all that it keeps in `/tmp`. */
  readonly temporaryBytes: number;
}

const MIB = 1024 * 1024;

export const RESERVED_PER_USED = 4;

export const DEFAULT_LIMITS: SandboxLimits = {
  cpuSeconds: 600,
  memoryBytes: 1024 * MIB,
  fileBytes: 256 * MIB,
  processes: 128,
  openFiles: 1024,
  temporaryBytes: 64 * MIB,
};
