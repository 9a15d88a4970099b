/**
 * Classifies a command before its programs are looked up, from its text and the workspace. Planning and running both start
 * here and get the same result for the same workspace.
 */
import type { Workspace } from "../fs/workspace.ts";
import { commandRefused, quoted } from "./classification.ts";
import { type ClassifiedCommand, classifyCommand } from "./classify-command.ts";
import { inspectRepository } from "./inspect-repository.ts";
import { readScripts, type ScriptFile } from "./read-scripts.ts";
import { splitCommand } from "./split-command.ts";

export interface PreparedCommand {
  readonly stages: readonly ClassifiedCommand[];
  readonly scripts: readonly ScriptFile[];
  /** The repository's configuration, if the command uses git; an approval covers it too. */
  readonly config: ScriptFile | null;
  readonly asks: readonly string[];
}

export async function prepareCommand(
  workspace: Workspace,
  allow: readonly string[],
  text: string,
): Promise<PreparedCommand> {
  const words = splitCommand(text);
  refuseDangerousWords(words);
  const stages = words.map((stage) => classifyCommand(stage, { allow, root: workspace.root }));
  const scripts = await readScripts(workspace, stages);
  const asks = stages.flatMap((stage) => stage.asks);
  if (stages.every(({ name }) => name !== "git")) return { stages, scripts, config: null, asks };
  const { isInert, config } = await inspectRepository(workspace);
  return {
    ...{ stages, scripts, config },
    asks: isInert ? asks : [...asks, "the repository's own configuration may start other programs"],
  };
}

/**
 * The tripwire of S-4.3, checked on the words as executed, so that quoting hides nothing. It is not a boundary and need
 * not be complete: the allowlist, the option rules and the sandbox are.
 */
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

function refuseDangerousWords(stages: readonly (readonly string[])[]): void {
  for (const words of stages) {
    const [found] = DANGEROUS.flatMap((pattern) => pattern.exec(words.join(" ")) ?? []);
    if (found !== undefined) throw commandRefused(`${quoted(found)} is never allowed in a command`);
  }
}
