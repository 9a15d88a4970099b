/** Lists that the store gives in pages, read whole. */
import type { Store, StoredRun } from "../../runtime/ports/store.ts";

const PAGE = 500;

type ReadPage<Item> = (offset: number, limit: number) => Promise<readonly Item[]>;

export async function readAll<Item>(readPage: ReadPage<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const page of pagesOf(readPage)) all.push(...page);
  return all;
}

/** One page in memory at a time: a run holds its contract. */
export async function* allRuns(store: Pick<Store, "listRuns">): AsyncGenerator<StoredRun, void> {
  const pages = pagesOf(async (offset, limit) => (await store.listRuns({ limit, offset })).runs);
  for await (const page of pages) yield* page;
}

async function* pagesOf<Item>(readPage: ReadPage<Item>): AsyncGenerator<readonly Item[], void> {
  for (let offset = 0; ; offset += PAGE) {
    const page = await readPage(offset, PAGE);
    yield page;
    if (page.length < PAGE) return;
  }
}
