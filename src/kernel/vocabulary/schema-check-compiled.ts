/** Schemas compiled to code, for Node. `schema-check-interpreted.ts` is its twin where a content policy forbids `new Function`. */
import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";

export interface SchemaProblem {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message: string;
}

export interface SchemaCheck<Schema extends TSchema> {
  accepts(value: unknown): value is Static<Schema>;
  problems(value: unknown): readonly SchemaProblem[];
}

/** Compiled when it is used first: a start compiles no schema that it does not need. */
export function schemaCheck<Schema extends TSchema>(schema: Schema): SchemaCheck<Schema> {
  let compiled: Validator | null = null;
  const check = (): Validator => {
    compiled ??= Compile(schema as TSchema);
    return compiled;
  };
  return {
    accepts: (value): value is Static<Schema> => check().Check(value),
    problems: (value) => check().Errors(value),
  };
}
