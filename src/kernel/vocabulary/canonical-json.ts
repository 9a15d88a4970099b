export function canonicalJson(value: unknown): string { return JSON.stringify(value); }
