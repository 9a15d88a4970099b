/**
 * Secrets that an operator gives the home by name: for channels, and for the arguments of tools.
 *
 * V1. A value comes in and never goes out: the API lists names, and ledger, journals and logs hold names only.
 * V2. Whatever the store is given is sealed first.
 * V3. A value is known to redaction before it is durable, so it is never stored as text. After it was replaced or removed it
 *     stays a secret for as long as the process lives.
 * V4. Changes are made one after the other, and apply without a restart.
 */
import { type Refusal, type Result, refuse } from "../operations/operation.ts";
import { type Clock, timestampOf } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { SecretBox, StoredSecret } from "../ports/stored-secret.ts";

export type SecretValues = ReadonlyMap<string, string>;

export interface SecretsParts {
  readonly store: Pick<Store, "commit" | "storedSecrets">;
  readonly clock: Pick<Clock, "nowMs">;
  /** Makes the key if there is none. */
  readonly box: () => Promise<SecretBox>;
  readonly values: () => SecretValues;
  /** Makes everything that depends on them; `install` puts it in place. A refusal: they cannot be used. */
  readonly prepare: (values: SecretValues) => { readonly ok: true; readonly install: () => Promise<void> } | Refusal;
}

export type NamedSecret = Pick<StoredSecret, "name" | "updatedAtMs">;

export class Secrets {
  readonly #parts: SecretsParts;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: SecretsParts) {
    this.#parts = parts;
  }

  async list(): Promise<readonly NamedSecret[]> {
    return (await this.#parts.store.storedSecrets()).map(({ name, updatedAtMs }) => ({ name, updatedAtMs }));
  }

  set(name: string, value: string, actor: string): Promise<Result<NamedSecret>> {
    return this.#inTurn(async () => {
      const { store, clock, values, prepare, box } = this.#parts;
      const prepared = prepare(new Map([...values(), [name, value]]));
      if (!prepared.ok) return prepared;
      const { seal } = await box();
      const updatedAtMs = clock.nowMs();
      const draft = { kind: "secret.set", ts: timestampOf(updatedAtMs), actor, data: { name } } as const;
      const secret = { name, sealed: seal(name, value), updatedAtMs };
      await store.commit([{ type: "put-secret", secret, draft }], "barrier");
      await prepared.install();
      return { ok: true, value: { name, updatedAtMs } };
    });
  }

  remove(name: string, actor: string): Promise<Result<{ readonly name: string }>> {
    return this.#inTurn(async () => {
      const { store, clock, values, prepare } = this.#parts;
      if (!values().has(name)) return refuse("not_found", "there is no such secret: surety secrets ls lists them");
      const prepared = prepare(new Map([...values()].filter(([other]) => other !== name)));
      if (!prepared.ok) return prepared;
      const draft = { kind: "secret.removed", ts: timestampOf(clock.nowMs()), actor, data: { name } } as const;
      await store.commit([{ type: "remove-secret", draft }], "barrier");
      await prepared.install();
      return { ok: true, value: { name } };
    });
  }

  #inTurn<Done>(change: () => Promise<Done>): Promise<Done> {
    const done = this.#turn.then(change);
    this.#turn = done.catch(() => {});
    return done;
  }
}
