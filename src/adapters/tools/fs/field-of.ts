/** A text or a number out of something nobody has checked, or undefined. */
export function fieldOf(value: unknown, name: string): string | number | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  const field = (value as Readonly<Record<string, unknown>>)[name];
  return typeof field === "string" || typeof field === "number" ? field : undefined;
}
