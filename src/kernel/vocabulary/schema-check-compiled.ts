/** Schemas compiled to code, for Node. `schema-check-interpreted.ts` is its twin where a content policy forbids `new Function`. */
import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";

export interface SchemaProblem {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message: string;
}

export interface SchemaCheck<Schema extends TSchema> {
  accepts(value: unknown): value is Static<Schema>;
  problems(value: unknown): readonly SchemaProblem[];
}

export function schemaCheck<Schema extends TSchema>(schema: Schema): SchemaCheck<Schema> {
  const compiled = Compile(schema as TSchema);
  return {
    accepts: (value): value is Static<Schema> => compiled.Check(value),
    problems: (value) => compiled.Errors(value),
  };
}
