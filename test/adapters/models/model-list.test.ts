import { describe, expect, test } from "vitest";
import { isListed } from "../../../src/adapters/models/health.ts";

const listOf = (...ids: readonly string[]) => JSON.stringify({ data: ids.map((id) => ({ id })) });

describe("a model is known by the list of its provider", () => {
  test.each([
    ["gpt-4o", "gpt-4o"],
    ["gemini-2.5-pro", "models/gemini-2.5-pro"],
    ["llama3", "llama3:latest"],
    ["Qwen3", "qwen3"],
    ["claude-sonnet-4-5", "claude-sonnet-4-5-20250929"],
    ["openai/gpt-4o:online", "openai/gpt-4o"],
  ])("%s as %s", (model, listed) => {
    expect(isListed(listOf("another", listed), model)).toBe(true);
    expect(isListed(listOf("another", model), listed)).toBe(true);
  });

  test("by its name where it has no id", () => {
    expect(isListed('{"models":[{"name":"models/gemma"}]}', "gemma")).toBe(true);
  });

  test.each([
    ["llama3:8b", "llama3:latest"],
    ["gpt-4o", "gpt-4o-mini"],
    ["gpt-4o", "openai/gpt-4o"],
  ])("%s is not %s", (model, listed) => {
    expect(isListed(listOf(listed), model)).toBe(false);
  });
});

test.each([
  ["no JSON", "<html>"],
  ["no list", "{}"],
  ["an empty list", listOf()],
  ["the first page", JSON.stringify({ data: [{ id: "other" }], has_more: true })],
  ["a server that takes any name", JSON.stringify({ data: [{ id: "/m/q.gguf", owned_by: "llamacpp" }] })],
])("%s tells nothing", (_, body) => {
  expect(isListed(body, "m")).toBeNull();
});
