/** Schemas walked for each value: slower than compiled, without `new Function`, which the control UI's content policy forbids. */
import type { Static, TSchema } from "typebox";
import { Check, Errors } from "typebox/schema";
import type { SchemaCheck } from "./schema-check-compiled.ts";

export function schemaCheck<Schema extends TSchema>(schema: Schema): SchemaCheck<Schema> {
  return {
    accepts: (value): value is Static<Schema> => Check(schema, value),
    problems: (value) => Errors(schema, value)[1],
  };
}
