/** A list that is read in pages, read to its end. */
import type { Page } from "../../runtime/ports/store.ts";

/** As much as the gateway gives at once. */
const LIMIT = 500;

/** Ended by a page with nothing on it: one that is merely short may have had something left out. */
export async function allPages<Item>(read: (page: Page) => Promise<readonly Item[]>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (let offset = 0; ; offset += LIMIT) {
    const page = await read({ limit: LIMIT, offset });
    if (page.length === 0) return items;
    items.push(...page);
  }
}
