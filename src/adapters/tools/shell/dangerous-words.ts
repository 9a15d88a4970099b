/**
 * The tripwire of S-4.3: a command that holds one of these is refused, whatever else is said of it. It is no boundary
 * and need not be complete; what bounds a command is the allowlist, the option rules and the sandbox.
 *
 * It looks at the words as they would be executed, so that no quoting hides anything from it.
 */
import { commandRefused } from "./command-refused.ts";

const DANGEROUS: readonly RegExp[] = [
  /\brm (?:-\S+ )*(?:\/|\/\*|~|\$HOME)(?: |$)/,
  /--no-preserve-root\b/,
  /:\(\)\s*\{/,
  /\bmkfs(?:\.\w+)? /,
  /\/dev\/(?:tcp|udp)\//,
  /\/dev\/(?:mem|kmem|port|sd[a-z]|nvme\d|vd[a-z]|disk\d)/,
  /\/etc\/(?:shadow|gshadow|sudoers)\b/,
  /\.ssh\/(?:id_|authorized_keys)/,
  /\/proc\/(?:self|\d+)\/(?:environ|mem|root|fd)\b/,
  /\b169\.254\.169\.254\b/,
];

export function refuseDangerousWords(stages: readonly (readonly string[])[]): void {
  for (const words of stages) {
    const [found] = DANGEROUS.flatMap((pattern) => pattern.exec(words.join(" ")) ?? []);
    if (found !== undefined) throw commandRefused(`${JSON.stringify(found)} is never part of a command here`);
  }
}
