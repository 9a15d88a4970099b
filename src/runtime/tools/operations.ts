/** Operations on tools (T-1.2). */
import { Type } from "typebox";
import { RISK_CLASSES } from "../../kernel/vocabulary/risk.ts";
import { Nothing } from "../operations/input-schemas.ts";
import { operationsOver } from "../operations/operation.ts";
import type { Toolbox } from "../ports/toolbox.ts";

export interface ToolServices {
  readonly toolbox: Pick<Toolbox, "tools">;
}

const ToolSchema = Type.Object({
  name: Type.String(),
  description: Type.String(),
  /** JSON Schema of the arguments. */
  parameters: Type.Unsafe<object>(Type.Object({})),
  risk: Type.Enum([...RISK_CLASSES]),
});

const { json } = operationsOver<ToolServices>();

export const toolOperations = [
  json({
    name: "tools.list",
    method: "GET",
    path: "/api/tools",
    scope: "operate",
    summary: "lists the registered tools: name, description, JSON Schema of the arguments, risk class",
    input: Nothing,
    output: Type.Object({ tools: Type.Array(ToolSchema) }),
    call: ({ toolbox }) => ({ ok: true, value: { tools: [...toolbox.tools] } }),
  }),
] as const;
