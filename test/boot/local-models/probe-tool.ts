import { Type } from "typebox";
import { defineTool, type Tool } from "../../../src/adapters/tools/define-tool.ts";
import { USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";

/** Every kind of parameter, and short texts, so that noise is short. */
export const PROBE: Tool = defineTool({
  name: "probe.look",
  description: "Look at something.",
  parameters: Type.Object(
    {
      what: Type.String({ minLength: 1, maxLength: 24 }),
      how: Type.Enum(["near", "far"]),
      times: Type.Optional(Type.Integer({ minimum: 1, maximum: 99, default: 1 })),
      places: Type.Optional(Type.Array(Type.String({ maxLength: 8 }), { maxItems: 3, default: [] })),
      within: Type.Union([Type.Null(), Type.Number({ minimum: 0, maximum: 10 })]),
      deep: Type.Boolean(),
    },
    { additionalProperties: false },
  ),
  ...{ risk: "read_only", idempotency: "read_only" },
  plan: ({ what }) => ({ shown: `look at ${what}`, labels: USER_LABELS }),
  run: ({ args }) => ({ ...args, places: [...args.places] }),
  summarize: () => "looked",
});
