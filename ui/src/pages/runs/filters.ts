/** Which runs are listed, as the address says it: what is shared or gone back to shows the same. */
import { useSearchParams } from "wouter";

const FIELDS = ["status", "agent", "session", "text"] as const;
export type Field = (typeof FIELDS)[number];
export type Filters = Readonly<Partial<Record<Field, string>>>;

export function useFilters(): readonly [Filters, (change: Filters, options?: { readonly replace?: boolean }) => void] {
  const [params, setParams] = useSearchParams();
  const filters = Object.fromEntries(
    FIELDS.flatMap((field) => {
      const value = params.get(field)?.trim() ?? "";
      return value === "" ? [] : [[field, value]];
    }),
  );
  const change = (wanted: Filters, { replace = false } = {}): void => {
    const next = new URLSearchParams(params);
    for (const [field, value] of Object.entries(wanted)) {
      if (value === "") next.delete(field);
      else next.set(field, value);
    }
    setParams(next, { replace });
  };
  return [filters, change];
}
