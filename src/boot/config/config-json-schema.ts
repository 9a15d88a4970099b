/** The JSON Schema of `surety.json5`, for editors and for people. */
import * as z from "zod/mini";
import { ConfigSchema } from "./config-schema.ts";

export function configSchema(): object {
  return z.toJSONSchema(ConfigSchema, { io: "input" });
}
