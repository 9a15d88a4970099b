import { describe, expect, test } from "vitest";
import { formatTable } from "../../../src/adapters/terminal/format-table.ts";
import { styleFor } from "../../../src/adapters/terminal/style.ts";

const PLAIN = styleFor({}, true);

describe("a table", () => {
  test("has columns as wide as they need to be", () => {
    expect(
      formatTable(
        ["id", "status"],
        [
          ["run_1", "completed"],
          ["ü", ""],
        ],
        PLAIN,
      ),
    ).toBe("id     status\nrun_1  completed\nü\n");
    expect(formatTable(["id"], [], PLAIN)).toBe("id\n");
  });

  test("holds foreign text in its cell", () => {
    expect(formatTable(["a", "b"], [["x\ny\u001b[0m", "z"]], PLAIN)).toBe(
      "a                   b\nx\\u{a}y\\u{1b}[0m  z\n".replace("a                   b", "a                 b"),
    );
  });
});
