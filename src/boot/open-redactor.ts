/** The redactor knows every secret this process has read: provider keys and its own bearer token. */
import { compileRedactor, type Redactor } from "../kernel/redaction/redact.ts";
import { BootError } from "./boot-error.ts";
import type { Config } from "./config/config.ts";
import { resolveApiKey } from "./config/resolve-api-key.ts";
import type { ReadVariable } from "./environment.ts";

export function openRedactor(config: Config, readVariable: ReadVariable, token: string | null): Redactor {
  const keys = Object.entries(config.models.providers).flatMap(([id, provider]) => {
    const verdict = resolveApiKey(id, provider, readVariable);
    return verdict.ok && verdict.key !== null ? [{ name: `${id}-key`, value: verdict.key }] : [];
  });
  const secrets = token === null ? keys : [...keys, { name: "gateway-token", value: token }];
  const { emails, phones } = config.redaction;
  const verdict = compileRedactor({ secrets, emails, phones });
  if (verdict.ok) return verdict.redactor;
  throw new BootError(
    "secret.unusable",
    `${secrets[verdict.index]?.name ?? "a secret"} cannot be kept out of what is stored (${verdict.reason})`,
    "Keys and tokens must be longer than a common word and no longer than 8 kB.",
  );
}
