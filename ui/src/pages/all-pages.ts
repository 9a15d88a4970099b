import type { Page } from "./page.ts";

const found = import.meta.glob<{ readonly page: Page }>("./*/page.ts", { eager: true });

export const PAGES: readonly Page[] = Object.values(found)
  .map(({ page }) => page)
  .sort((a, b) => a.order - b.order);

/** Where a page begins: its path without parameters. */
export function hrefOf({ path }: Page): string {
  return path.replace(/\/:.*$/, "") || "/";
}
