/** The commands of `tools.shell.allow` where the operator names none: they read, and their options are known. */
export const DEFAULT_SHELL_ALLOW: readonly string[] = (
  "basename cat cmp comm cut date diff dirname du echo file find git grep head jq ls md5sum nl pwd readlink realpath rg " +
  "sed sha256sum sort stat tac tail tr tree uniq wc"
).split(" ");
