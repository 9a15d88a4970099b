/** Citations of memories in answers. */
import { expect } from "vitest";
import { memoriesCited } from "../../../../src/kernel/journal/views/memory-citations.ts";
import { verifies } from "../../../requirements.ts";

verifies("S-5.2/recognised", "citations are recognised by their form, each once, in their order", () => {
  const answer = "a [mem:mem_0b] b [mem:mem_0a][mem:mem_0b] [mem:14] [mem: mem_0c] mem:mem_0d [mem:mem_XY]";
  expect(memoriesCited(answer)).toEqual(["mem_0b", "mem_0a"]);
  expect(memoriesCited("none")).toEqual([]);
});
