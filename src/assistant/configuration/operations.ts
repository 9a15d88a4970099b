/** Operations on the configuration (T-1.2, O-6.2). The document has the shape of `surety.json5`, defaults included. */
import { Type } from "typebox";
import { closed } from "../../kernel/vocabulary/schema-primitives.ts";
import { Nothing } from "../../runtime/operations/input-schemas.ts";
import { type Caller, operationsOver, type Result } from "../../runtime/operations/operation.ts";

export interface ConfigurationServices {
  readonly configuration: Configuration;
}

export interface Configuration {
  /** With the ETag of the file. Values that hold a secret are blank. */
  read(): Promise<Result<object>>;
  /** JSON Schema. */
  schema(): Promise<object>;
  change(request: ChangeRequest, caller: Pick<Caller, "principal" | "ifMatch">): Promise<Result<ConfigChange>>;
}

export type ChangeRequest =
  /** A JSON merge patch. */
  | { readonly patch: object; readonly isCheck: boolean }
  /** The whole document. */
  | { readonly document: object; readonly isCheck: boolean };

export interface ChangedValue {
  /** Such as `gateway.queue.max`. */
  readonly path: string;
  /** Null: not set, and without a default. */
  readonly before: unknown;
  readonly after: unknown;
}

/** A key that the changed config needs and the environment lacks. */
export interface MissingVariable {
  /** The path of what needs it. */
  readonly path: string;
  readonly variable: string;
  /** The line to add. */
  readonly line: string;
  /** Where to, as the user would write it. */
  readonly file: string;
}

export interface ConfigChange {
  readonly problems: { path: string; message: string }[];
  readonly changes: ChangedValue[];
  readonly applied: string[];
  readonly restart_required: string[];
  readonly missing: MissingVariable[];
}

const Text = Type.String();
const Document = Type.Unsafe<object>(Type.Object({}));
const Check = Type.Optional(Type.Integer({ minimum: 0, maximum: 1, default: 0 }));
const Paths = Type.Array(Text);

const ChangeSchema = Type.Object({
  /** What is wrong with it; only a check answers these. */
  problems: Type.Array(Type.Object({ path: Text, message: Text })),
  changes: Type.Array(Type.Object({ path: Text, before: Type.Unknown(), after: Type.Unknown() })),
  /** For runs from now on. */
  applied: Paths,
  /** Written, and without effect until the gateway is restarted. */
  restart_required: Paths,
  missing: Type.Array(Type.Object({ path: Text, variable: Text, line: Text, file: Text })),
});

const { json } = operationsOver<ConfigurationServices>();

const read = {
  method: "GET",
  scope: "admin",
  hasEtag: true,
  input: Nothing,
  output: Document,
  call: ({ configuration }: ConfigurationServices) => configuration.read(),
} as const;

export const configurationOperations = [
  json({
    ...read,
    name: "config.get",
    path: "/api/config",
    summary: "shows the configuration, defaults included, with its `ETag`; values that hold a secret are blank",
  }),
  json({
    name: "config.update",
    method: "PATCH",
    path: "/api/config",
    scope: "admin",
    summary:
      "changes the configuration by a JSON merge patch, applied at once where possible; takes `If-Match`; `?check=1` changes nothing and says what it would",
    takesIfMatch: true,
    bodyField: "patch",
    input: Type.Object({ check: Check, patch: Document }, closed),
    output: ChangeSchema,
    call: ({ configuration }, { patch, check = 0 }, caller) =>
      configuration.change({ patch, isCheck: check === 1 }, caller),
  }),
  json({
    name: "config.schema",
    method: "GET",
    path: "/api/config/schema",
    scope: "operate",
    summary: "describes the configuration as JSON Schema",
    input: Nothing,
    output: Document,
    async call({ configuration }) {
      return { ok: true, value: await configuration.schema() };
    },
  }),
  json({ ...read, name: "admin.config.get", path: "/api/admin/config", summary: "as `GET /api/config`" }),
  json({
    name: "admin.config.replace",
    method: "POST",
    path: "/api/admin/config",
    scope: "admin",
    summary:
      "takes back what `GET` gave, changed: the whole configuration; a value that was blank is unchanged if it still is; `If-Match` and `?check=1` as above",
    takesIfMatch: true,
    bodyField: "document",
    input: Type.Object({ check: Check, document: Document }, closed),
    output: ChangeSchema,
    call: ({ configuration }, { document, check = 0 }, caller) =>
      configuration.change({ document, isCheck: check === 1 }, caller),
  }),
] as const;
