/** Schemas compiled to code, for Node. `schema-check-interpreted.ts` is its twin where a content policy forbids `new Function`. */
import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { Check, Errors } from "typebox/schema";

export interface SchemaProblem {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message: string;
}

export interface SchemaCheck<Schema extends TSchema> {
  accepts(value: unknown): value is Static<Schema>;
  problems(value: unknown): readonly SchemaProblem[];
}

/** Compiling takes as long as this many checks without it: most schemas of a start, or of a command, are met less often. */
const WORTH_COMPILING = 16;

export function schemaCheck<Schema extends TSchema>(schema: Schema): SchemaCheck<Schema> {
  let uses = 0;
  let compiled: Validator | null = null;
  const accepts = (value: unknown): boolean => {
    if (compiled !== null) return compiled.Check(value);
    uses += 1;
    if (uses < WORTH_COMPILING) return Check(schema, value);
    compiled = Compile(schema as TSchema);
    return compiled.Check(value);
  };
  return {
    accepts: (value): value is Static<Schema> => accepts(value),
    problems: (value) => Errors(schema, value)[1],
  };
}
