import JSON5 from "json5";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { configSchema } from "../../../src/boot/config/config-schema.ts";
import { DEFAULT_CONFIG } from "../../../src/boot/config/default-config.ts";
import { MOONSHOT_CONFIG } from "./example-config.ts";

describe("the JSON Schema of the config", () => {
  const schema = configSchema();
  const validator = Compile(schema as Parameters<typeof Compile>[0]);

  test("is bare, and plain JSON", () => {
    expect(schema).toMatchObject({ type: "object", additionalProperties: false });
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
    expect(Object.keys((schema as { properties: object }).properties)).toEqual(Object.keys(DEFAULT_CONFIG));
  });

  test("takes what the reader takes and refuses what it refuses", () => {
    for (const value of [{}, DEFAULT_CONFIG, JSON5.parse(MOONSHOT_CONFIG)]) expect(validator.Check(value)).toBe(true);
    for (const value of [{ bogus: 1 }, { gateway: { port: 99_999 } }, { models: { default: 1 } }, []]) {
      expect(validator.Check(value)).toBe(false);
    }
  });
});
