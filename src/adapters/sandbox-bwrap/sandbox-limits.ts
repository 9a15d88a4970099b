/**
 * What one command may use. Processes are counted over the whole command; the other limits apply to each process, because
 * that is what an ordinary user can limit (docs/sandbox.md).
 */
export interface SandboxLimits {
  readonly cpuSeconds: number;
  /** Written memory. A process may reserve `RESERVED_PER_USED` times as much: many runtimes reserve what they never touch. */
  readonly memoryBytes: number;
  readonly fileBytes: number;
  readonly processes: number;
  readonly openFiles: number;
  /** The size of `/tmp`. */
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
