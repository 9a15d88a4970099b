import { test } from "vitest";

/** A test that proves one or more requirements; their ids stand in brackets in its title. */
export function verifies(ids: string | readonly string[], title: string, body: () => void | Promise<void>, timeoutMs?: number): void {
  const cited = typeof ids === "string" ? [ids] : ids;
  test(`${cited.map((id) => `[${id}]`).join("")} ${title}`, body, timeoutMs);
}
