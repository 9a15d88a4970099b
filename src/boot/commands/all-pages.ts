/** Reads a paged list to its end. */
import type { Page } from "../../runtime/ports/store.ts";

/** The gateway's largest page. */
const LIMIT = 500;

/** Stops at an empty page: a short one may have had rows filtered out. */
export async function allPages<Item>(read: (page: Page) => Promise<readonly Item[]>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (let offset = 0; ; offset += LIMIT) {
    const page = await read({ limit: LIMIT, offset });
    if (page.length === 0) return items;
    items.push(...page);
  }
}
