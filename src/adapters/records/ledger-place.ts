/**
 * How far files that follow the ledger are written: the seq and hash of the last entry whose files are durable. After a
 * restore the ledger may hold another entry there; then everything is read again, and what a file holds is not written twice.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { LedgerHead } from "../../kernel/journal/ledger.ts";
import type { Store } from "../../runtime/ports/store.ts";

/** Written by earlier versions without the hash. */
const PLACE = /^(\d{1,15})(?: ([0-9a-f]{64}))?\n$/;

export class LedgerPlace {
  readonly #file: string;
  readonly #store: Pick<Store, "readLedgerLines">;

  constructor(file: string, store: Pick<Store, "readLedgerLines">) {
    this.#file = file;
    this.#store = store;
  }

  /** 0: nothing is written. */
  async read(): Promise<number> {
    const kept = PLACE.exec(await readFile(this.#file, "utf8").catch(() => ""));
    const seq = Number(kept?.[1] ?? 0);
    if (seq === 0) return 0;
    const [line] = await this.#store.readLedgerLines(seq - 1, 1);
    if (line === undefined) return 0;
    return kept?.[2] === undefined || line.includes(`"hash":"${kept[2]}"`) ? seq : 0;
  }

  async keep({ seq, hash }: LedgerHead): Promise<void> {
    const aside = `${this.#file}.new`;
    await mkdir(dirname(aside), { recursive: true, mode: 0o700 });
    // Not synced: a place lost in a power cut means reading everything again.
    await writeFile(aside, `${seq} ${hash}\n`, { mode: 0o600 });
    await rename(aside, this.#file);
  }
}
