/** Programs that start others, or execute instructions in a language of their own. */
const STARTS_PROGRAMS = new Set(
  // shells and languages
  (
    "sh bash dash ash zsh ksh mksh fish csh tcsh rbash pwsh python pypy perl ruby node nodejs deno bun lua luajit php awk " +
    "gawk mawk nawk tclsh wish expect osascript r rscript julia guile racket ghci scala groovy java jshell dc bc m4 sqlite " +
    "psql mysql gdb lldb " +
    // can be made to start other programs
    "vi vim nvim view ex ed emacs nano less more most man info pager editor zip tar rsync scp sftp ssh curl wget nc ncat " +
    "socat telnet ftp git-shell screen tmux cpio " +
    // wrappers
    "env xargs nohup timeout nice ionice chrt setsid stdbuf time watch sudo su doas runuser chroot unshare nsenter flock " +
    "script strace ltrace parallel entr systemd-run setpriv taskset prlimit fakeroot bwrap firejail start-stop-daemon at " +
    "batch crontab run-parts busybox toybox coreutils " +
    // builders
    "make gmake cmake ninja npm npx pnpm yarn corepack cargo go gradle mvn ant just task pip pipx uv poetry tox pytest " +
    "bundle rake gem composer docker podman kubectl terraform ansible gcc cc clang ld as"
  ).split(" "),
);
/** One file for many programs, chosen by the name it is called by. */
const MULTI_CALL = new Set(["busybox", "toybox", "coreutils", "uutils", "box"]);

/** Their words alone decide what they do. (`install` and `split` can start programs.) */
const PLAIN = new Set(
  "chgrp chmod chown cp dd false link ln mkdir mkfifo mktemp mv rm rmdir shred sleep sync tee touch true truncate unlink".split(
    " ",
  ),
);

/** For a program without a table: may it depend on files that its words do not name? */
export function mayReadUnnamed(realName: string): boolean {
  return !PLAIN.has(realName);
}

export function startsPrograms(name: string): boolean {
  return STARTS_PROGRAMS.has(withoutVersion(name));
}

/** Options count in any position, and long ones by any unique prefix: `--r` is enough. */
export function removesRecursively(name: string, args: readonly string[]): boolean {
  if (name !== "rm") return false;
  const end = args.indexOf("--");
  const words = end === -1 ? args : args.slice(0, end);
  return words.some((word) => /^-[^-]*[rR]/.test(word) || /^--r/.test(word));
}

export function isDisguised(name: string, realName: string): boolean {
  if (name === realName) return false;
  return MULTI_CALL.has(realName) || (startsPrograms(realName) && !startsPrograms(name));
}

/** `python3.11` is python, `vim.basic` is vim. */
function withoutVersion(name: string): string {
  return name.toLowerCase().replace(/[-.]?[\d.]+$|\.\w+$/, "");
}
