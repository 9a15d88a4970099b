/**
 * The words of a ghost (T-5.2), and the plans of its actions: what a run would be asked to do, word by word. Pure, so equal
 * trouble has equal plans.
 */
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import type { NewGhost, StoredGhostAction } from "../../runtime/ports/stored-ghost.ts";
import type { Trouble } from "./trouble.ts";

interface Ask {
  readonly label: string;
  readonly type: "approve" | "custom";
  readonly message: string;
}

type Words = Pick<NewGhost, "path" | "trigger" | "observation" | "proposal" | "confidence"> & {
  readonly asks: readonly Ask[];
};

/** A path as the agent knows it, and whether its tools reach it. */
export type ShowPath = (path: string) => { readonly name: string; readonly isReachable: boolean };

export function wordGhost(trouble: Trouble, show: ShowPath): Words {
  switch (trouble.kind) {
    case "syntax-error":
      return syntaxError(trouble, show);
    case "test-without-source": {
      const { name } = show(trouble.path);
      const message = `The test file ${name} has no source file: nothing here is called ${trouble.source}. Read the test, then propose the source that it expects.`;
      return {
        path: null,
        trigger: `file added: ${name}`,
        observation: `This tests ${trouble.source}, and no file of that name is there.`,
        proposal: "Should I read the test and propose the source?",
        confidence: "medium",
        asks: [{ label: "Propose the source", type: "approve", message }],
      };
    }
    case "failing-command": {
      const { command, exitCode, times, directory } = trouble;
      const { name } = show(directory);
      const message = `The command \`${command}\` failed ${times} times in a row in ${name}, the last time with exit code ${exitCode}. Find out why, and say what to change.`;
      return {
        path: null,
        trigger: `command failed: ${command}`,
        observation: `It failed ${times} times in a row, the last time with exit code ${exitCode}.`,
        proposal: "Should I find out why it fails?",
        confidence: "high",
        asks: [{ label: "Find out why", type: "approve", message }],
      };
    }
    case "repeated-command": {
      const { command, times } = trouble;
      const message = `I ran \`${command}\` ${times} times in a row. Say what may be wrong, and what to try instead.`;
      return {
        path: null,
        trigger: `command repeated: ${command}`,
        observation: `It was run ${times} times in a row. Whether it failed is not in the history.`,
        proposal: "Should I look into it?",
        confidence: "low",
        asks: [{ label: "Look into it", type: "approve", message }],
      };
    }
    case "merge-conflict": {
      const { paths } = trouble;
      const { name } = show(trouble.repository);
      const message = `There are merge conflicts in ${name}: ${paths.join(", ")}. Read the files, and propose how to resolve each conflict.`;
      return {
        path: null,
        trigger: `git: merge conflict in ${name}`,
        observation: `${paths.length === 1 ? "1 file has" : `${paths.length} files have`} conflicts: ${paths.join(", ")}.`,
        proposal: "Should I propose how to resolve them?",
        confidence: "high",
        asks: [{ label: "Propose a resolution", type: "approve", message }],
      };
    }
    case "secret-in-commit": {
      const { path, line, found, isPushed } = trouble;
      const commit = trouble.commit.slice(0, 8);
      const what = found.join(", ");
      const next = isPushed
        ? "Say how to replace it where it is used, since it was pushed."
        : "Say how to take it out of the commit before it is pushed.";
      const message = `The commit ${commit} has a secret (${what}) in ${path}, line ${line}. ${next} Do not repeat the secret.`;
      return {
        path: null,
        trigger: `git ${isPushed ? "push" : "commit"}: ${commit} in ${show(trouble.repository).name}`,
        observation: `${path}, line ${line}, looks like a secret (${what})${isPushed ? ", and it was pushed" : ""}.`,
        proposal: isPushed ? "Should I say how to replace it?" : "Should I say how to take it out of the commit?",
        confidence: "high",
        asks: [{ label: isPushed ? "Say how to replace it" : "Say how to take it out", type: "approve", message }],
      };
    }
    case "large-binary": {
      const { path, bytes } = trouble;
      const size = `${(bytes / 1_048_576).toFixed(1)} MiB`;
      const message = `A binary file of ${size} was staged in git: ${path}. Say how to leave it out of the commit, and where such files belong.`;
      return {
        path: null,
        trigger: `git: staged in ${show(trouble.repository).name}`,
        observation: `${path} is a binary file of ${size}. In a commit it stays in the repository for good.`,
        proposal: "Should I say how to leave it out?",
        confidence: "medium",
        asks: [{ label: "Say how to leave it out", type: "approve", message }],
      };
    }
  }
}

function syntaxError(trouble: Extract<Trouble, { kind: "syntax-error" }>, show: ShowPath): Words {
  const { event, path, language, line, problem, repaired } = trouble;
  const { name, isReachable } = show(path);
  const canRepair = repaired !== null && isReachable;
  const fix = canRepair
    ? `Overwrite ${quoted(name)} with ${repaired}`
    : `Fix the ${language} syntax error in ${quoted(name)}, line ${line}: ${problem}.`;
  const showing: Ask = { label: "Show it", type: "custom", message: `Read ${quoted(name)}` };
  return {
    path,
    trigger: `file ${event === "add" ? "added" : "changed"}: ${name}`,
    observation: `${language} syntax error on line ${line}: ${problem}.`,
    proposal: isReachable ? "Should I fix it? You see the change first." : "Should I say how to fix it?",
    confidence: "high",
    asks: [
      { label: isReachable ? "Fix it" : "Say how to fix it", type: "approve", message: fix },
      ...(isReachable ? [showing] : []),
    ],
  };
}

function quoted(name: string): string {
  return /\s/.test(name) ? `"${name}"` : name;
}

/** Dismissing starts no run. */
export function actionsOf(ghostId: string, asks: readonly Ask[]): readonly StoredGhostAction[] {
  return [
    ...asks.map(({ label, type, message }) => ({ label, type, plan: { id: planId(ghostId, message), message } })),
    { label: "Dismiss", type: "dismiss" } as const,
  ];
}

/** Names exactly this message for this ghost: a plan that was changed has another id. */
export function planId(ghostId: string, message: string): string {
  return `plan_${hashCanonical([ghostId, message]).slice(0, 24)}`;
}
