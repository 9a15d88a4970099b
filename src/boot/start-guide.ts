/** What a person who starts the gateway wants to know: its model, its workspace, what is switched off, and what to try. */
import { matchesTool } from "../kernel/policy/tool-pattern.ts";
import type { Sandbox } from "../runtime/ports/sandbox.ts";
import type { Config } from "./config/config.ts";
import { DEFAULT_CONFIG } from "./config/default-config.ts";
import { BUILTIN_REF } from "./config/known-providers.ts";
import { resolveConfiguredModelRef } from "./config/resolve-configured-model-ref.ts";
import { callerDirectory, type ReadVariable } from "./environment.ts";
import type { Home } from "./home.ts";

interface Started {
  readonly home: Home;
  readonly config: Config;
  readonly readVariable: ReadVariable;
}

/** Names and values, to be printed line by line. */
export function startGuide({ home, config, readVariable }: Started): readonly (readonly [string, string])[] {
  // In a clone there is no `surety` on the path.
  const surety = callerDirectory(readVariable) === null ? "surety" : "npm run --silent surety --";
  return [
    ["model", modelWords(config)],
    ["workspace", config.tools.workspace ?? home.workspace],
    ...switchedOff(config).map((what) => ["off", what] as const),
    ["try", `${surety} run "list files"`],
    ["help", `${surety} --help`],
  ];
}

function modelWords(config: Config): string {
  const verdict = resolveConfiguredModelRef(config, null);
  if (!verdict.ok) return verdict.message;
  const { ref } = verdict.resolved;
  return ref === BUILTIN_REF ? `${ref}, a demonstration without key and network; docs/models.md adds a real one` : ref;
}

/** Null if commands can run here, or policy does not let them: the guide says that. */
export async function warningWithoutSandbox(
  { tools }: Config,
  sandbox: Pick<Sandbox, "check">,
): Promise<string | null> {
  if (!tools.policy.allow.some((each) => matchesTool(each, "shell.exec"))) return null;
  const missing = await sandbox.check();
  return missing.length === 0 ? null : `warning sandbox.required: shell.exec is off for now. ${missing.join(" ")}`;
}

function switchedOff({ tools: { policy, search } }: Config): readonly string[] {
  const missing = DEFAULT_CONFIG.tools.policy.allow.filter(
    (tool) => !policy.allow.some((each) => matchesTool(each, tool)),
  );
  return [
    ...(policy.sideEffects === "disabled" ? ["side effects: surety config unset tools.policy.sideEffects"] : []),
    ...missing.map((tool) => `${tool}: surety config add tools.policy.allow ${tool}`),
    ...(search.url === undefined ? ["web.search: it needs tools.search.url"] : []),
    "the network, until you grant a session a host: surety caps grant net:HOST --session S",
  ];
}
