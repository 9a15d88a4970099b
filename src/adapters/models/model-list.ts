/**
 * A provider's list of its models: is one of them there?
 *
 * L1. Null where that cannot be told: there is no list, it is empty, goes on elsewhere, or is of a server that takes any name.
 * L2. Servers list a model otherwise than they take it: with a prefix, with or without its tag, its date or its variant. What
 *     may be meant counts as there; a model that is really missing says so when it is asked.
 */
import { entriesOf, fieldsOf, parseFields, textOf } from "./read-fields.ts";

export function isListed(body: string, model: string): boolean | null {
  const document = parseFields(body);
  const rows = entriesOf(document?.["data"] ?? document?.["models"]).map((row) => fieldsOf(row) ?? {});
  const names = rows.map((row) => textOf(row["id"]) || textOf(row["name"])).filter((name) => name !== "");
  if (names.some((name) => plainName(name) === plainName(model))) return true;
  const isOpen = document?.["has_more"] === true || rows.some((row) => row["owned_by"] === LLAMA_CPP);
  return names.length === 0 || isOpen ? null : false;
}

/** Its server has one model, under the name of its file, and answers to any. */
const LLAMA_CPP = "llamacpp";

function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/^models\//, "")
    .replace(/:(?:latest|online|nitro|floor)$/, "")
    .replace(/-(?:latest|\d{8}|\d{4}-\d{2}-\d{2})$/, "");
}
