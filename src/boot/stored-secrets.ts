/**
 * The secrets of a home, opened with the key in `keys/secrets-key`. The key is made with the first secret. What cannot be
 * opened stops the home from opening: redaction would not know it.
 */
import { KEY_BYTES, secretBox } from "../adapters/secrets/secret-box.ts";
import { refuse } from "../runtime/operations/operation.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { SecretBox } from "../runtime/ports/stored-secret.ts";
import { Secrets, type SecretValues } from "../runtime/secrets/secrets.ts";
import { BootError } from "./boot-error.ts";
import { createSecret, readSecret } from "./durable-file.ts";
import type { Home } from "./home.ts";

const WHAT = "the key of the stored secrets";
const RESTORE =
  "Restore keys/secrets-key from a backup of the home's keys. Without it the values are lost: surety secrets reset removes them.";

interface Reconfiguring<Parts> {
  readonly store: Store;
  readonly clock: Clock;
  /** Everything that depends on them; throws where they cannot be used. */
  readonly prepare: (stored: () => SecretValues) => Parts;
  readonly install: (parts: Parts) => Promise<void>;
}

export async function openStoredSecrets(home: Home, store: Pick<Store, "storedSecrets">, random: RandomBytes) {
  const opened = await openAll(home, store, random);
  let current = opened.values;
  const service = <Parts>({ store, clock, prepare, install }: Reconfiguring<Parts>): Secrets =>
    new Secrets({
      ...{ store, clock, box: opened.box, values: () => current },
      prepare(next) {
        try {
          const parts = prepare(() => next);
          const installNext = async (): Promise<void> => {
            current = next;
            await install(parts);
          };
          return { ok: true, install: installNext };
        } catch (error) {
          if (!(error instanceof BootError)) throw error;
          return refuse("conflict", `${error.message}. ${error.hint}`);
        }
      },
    });
  const lookup = { stored: () => current, secretOf: (name: string) => current.get(name) };
  return { lookup, service };
}

async function openAll(
  { secretsKeyFile: file }: Home,
  store: Pick<Store, "storedSecrets">,
  random: RandomBytes,
): Promise<{ readonly values: SecretValues; readonly box: () => Promise<SecretBox> }> {
  const boxOf = (text: string): SecretBox => {
    const key = Buffer.from(text.trim(), "base64url");
    if (key.length === KEY_BYTES) return secretBox(key, random);
    throw new BootError("secrets.key_unusable", `${file} does not hold a key of ${KEY_BYTES} bytes`, RESTORE);
  };
  const box = async (): Promise<SecretBox> => {
    const made = Buffer.from(random(KEY_BYTES)).toString("base64url");
    return boxOf((await readSecret(file, WHAT)) ?? (await createSecret(file, WHAT, made, random)));
  };
  const stored = await store.storedSecrets();
  if (stored.length === 0) return { values: new Map(), box };
  const text = await readSecret(file, WHAT);
  if (text === null) {
    throw new BootError("secrets.key_missing", `${stored.length} stored secrets, but no key at ${file}`, RESTORE);
  }
  const { open } = boxOf(text);
  const values = stored.map(({ name, sealed }) => {
    const value = open(name, sealed);
    if (value !== null) return [name, value] as const;
    throw new BootError("secrets.key_wrong", `the secret ${name} does not open with the key in ${file}`, RESTORE);
  });
  return { values: new Map(values), box };
}
