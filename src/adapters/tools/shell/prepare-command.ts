/**
 * Everything that is known of a command before its programs are looked up, from its text and the workspace.
 *
 * P1. The same text in the same workspace gives the same preparation: planning and running a call both start here.
 */
import type { Workspace } from "../fs/workspace.ts";
import { type ClassifiedCommand, classifyCommand } from "./classify-command.ts";
import { refuseDangerousWords } from "./dangerous-words.ts";
import { inspectRepository } from "./inspect-repository.ts";
import { readScripts, type ScriptFile } from "./read-scripts.ts";
import { splitCommand } from "./split-command.ts";

export interface PreparedCommand {
  readonly stages: readonly ClassifiedCommand[];
  /** Files whose bytes decide what happens; an approval covers them. */
  readonly scripts: readonly ScriptFile[];
  /** The repository's configuration, where git is part of it; an approval covers it too. */
  readonly config: ScriptFile | null;
  /** Why a person has to be asked; empty where the command only reads. */
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
