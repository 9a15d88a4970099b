/**
 * The whole environment of a command. Nothing is inherited, and no file of the workspace or of a home configures it.
 * The git settings outrank a repository's own, also for a git that another command starts.
 */
import { posix } from "node:path";

export const SEARCH_PATH: readonly string[] = ["/usr/local/bin", "/usr/bin", "/bin"];

const GIT_SETTINGS: readonly (readonly [key: string, value: string])[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.sshCommand", "false"],
  ["gpg.program", "false"],
  ["log.showSignature", "false"],
  ["protocol.allow", "never"],
  ["safe.bareRepository", "explicit"],
  // In the sandbox the workspace belongs to another user.
  ["safe.directory", "*"],
  ["submodule.recurse", "false"],
];

export function shellEnvironment(root: string, searchPath: readonly string[]): Readonly<Record<string, string>> {
  return {
    PATH: searchPath.join(":"),
    HOME: "/nonexistent",
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    TZ: "UTC",
    TERM: "dumb",
    TMPDIR: "/tmp",
    PAGER: "cat",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_CEILING_DIRECTORIES: posix.dirname(root),
    GIT_CONFIG_COUNT: `${GIT_SETTINGS.length}`,
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_EDITOR: "false",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_PAGER: "cat",
    GIT_TERMINAL_PROMPT: "0",
    ...Object.fromEntries(
      GIT_SETTINGS.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  };
}
