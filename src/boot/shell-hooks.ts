/**
 * What `surety shadow hook SHELL` prints: after each command it appends time, exit code, directory and command to one file,
 * as a line with tabs between, and only while that file is there. It starts no program, and keeps what others read in `$?`.
 *
 * Line breaks and tabs of a command become blanks. A command that the shell leaves out of its history is not reported.
 */

export const HOOK_SHELLS = ["bash", "zsh", "fish"] as const;
export type HookShell = (typeof HOOK_SHELLS)[number];

export function shellHook(shell: HookShell, file: string): string {
  return HOOKS[shell](file);
}

const HOOKS: Readonly<Record<HookShell, (file: string) => string>> = {
  // PS0 is expanded when a command has been read, but not for an empty line.
  bash: (file) => `# Surety's shadow loop: reports exit codes. Add to ~/.bashrc: eval "$(surety shadow hook bash)"
__surety_file=${quoted(file)}
__surety_ran=
__surety_prompt() {
  local status=$? line
  if [[ -n $__surety_ran && -w $__surety_file ]]; then
    line=$(HISTTIMEFORMAT= builtin history 1)
    line=\${line#"\${line%%[![:space:]]*}"}
    line=\${line#*[[:space:]]}
    line=\${line#"\${line%%[![:space:]]*}"}
    printf '%s\\t%s\\t%s\\t%s\\n' "$EPOCHSECONDS" "$status" "\${PWD//[$'\\n\\t']/ }" "\${line//[$'\\n\\t']/ }" >> "$__surety_file"
  fi
  __surety_ran=
  return $status
}
if [[ "$(declare -p PROMPT_COMMAND 2>/dev/null)" != *__surety_prompt* ]]; then
  PS0='\${__surety_ran:$((__surety_ran=1,0)):0}'"$PS0"
  if [[ "$(declare -p PROMPT_COMMAND 2>/dev/null)" == "declare -a"* ]]; then
    PROMPT_COMMAND=(__surety_prompt "\${PROMPT_COMMAND[@]}")
  else
    PROMPT_COMMAND="__surety_prompt\${PROMPT_COMMAND:+; $PROMPT_COMMAND}"
  fi
fi
`,
  zsh: (file) => `# Surety's shadow loop: reports exit codes. Add to ~/.zshrc: eval "$(surety shadow hook zsh)"
__surety_file=${quoted(file)}
__surety_command=
zmodload zsh/datetime 2>/dev/null
__surety_preexec() {
  __surety_command=$1
  [[ -o histignorespace && $1 == ' '* ]] && __surety_command=
  return 0
}
__surety_precmd() {
  local exit_code=$?
  if [[ -n $__surety_command && -w $__surety_file ]]; then
    printf '%s\\t%s\\t%s\\t%s\\n' "$EPOCHSECONDS" "$exit_code" "\${PWD//[$'\\n\\t']/ }" "\${__surety_command//[$'\\n\\t']/ }" >>| "$__surety_file"
  fi
  __surety_command=
  return $exit_code
}
autoload -Uz add-zsh-hook
add-zsh-hook preexec __surety_preexec
add-zsh-hook precmd __surety_precmd
`,
  fish: (
    file,
  ) => `# Surety's shadow loop: reports exit codes. Add to ~/.config/fish/config.fish: surety shadow hook fish | source
set -g __surety_file ${quotedForFish(file)}
function __surety_postexec --on-event fish_postexec
    set -l exit_code $status
    if test -w $__surety_file; and test -n "$argv[1]"; and not string match -q ' *' -- $argv[1]
        set -l line (string replace -ra '[\\n\\t]' ' ' -- $argv[1] | string join ' ')
        printf '%s\\t%s\\t%s\\t%s\\n' 0 $exit_code (string replace -ra '[\\n\\t]' ' ' -- $PWD | string join ' ') $line >> $__surety_file
    end
end
`,
};

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function quotedForFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
