/** The ledger's entry about a change of the configuration: which settings, and a hash of the whole. */
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { Config } from "../config/config.ts";

export function configRecorder(store: Pick<Store, "commit">, clock: Pick<Clock, "nowMs">) {
  return async (paths: readonly string[], whole: Config, actor: string): Promise<void> => {
    const data = { paths: [...paths], configHash: hashCanonical(JSON.parse(JSON.stringify(whole))) };
    const draft = { kind: "config.changed", ts: timestampOf(clock.nowMs()), actor, data } as const;
    if (paths.length > 0) await store.commit([{ type: "append-ledger", draft }], "barrier");
  };
}
