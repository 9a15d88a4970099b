/** Looks at JSON from outside: what is not of the form asked for reads as nothing. */

export function fieldsOf(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

/** The object that a text is the JSON of. */
export function parseFields(text: string): Record<string, unknown> | null {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return null;
  }
}

const NONE: readonly unknown[] = [];

export function entriesOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NONE;
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
