/** Where the gateway logs what it did (P-4). Records hold ids, hashes, counts and codes, never content. */
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";

export const LOG_LEVELS = ["info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, JsonValue>>;

export interface Log {
  /**
   * `place`: `gateway`, or a provider's id and `requests`. `fields` are redacted; `facts` are not: ids, hashes and numbers that
   * we made. Returns at once and never throws.
   */
  write(place: LogPlace, level: LogLevel, event: string, fields: LogFields, facts?: LogFields): void;
}

export type LogPlace = "gateway" | { readonly provider: string };
