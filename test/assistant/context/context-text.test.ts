/** What a session has noted stays in its prompt, within a budget, however much it is. */
import { expect, test } from "vitest";
import { contextText } from "../../../src/assistant/context/context-text.ts";
import { estimateTokens } from "../../../src/runtime/model/estimate-tokens.ts";

const NOTHING = { goals: [], openLoops: [], decisions: [], constraints: [], episodeSummary: "" };
const many = (count: number, text: (at: number) => string) => Array.from({ length: count }, (_, at) => text(at + 1));

test("all decisions stay, also the first of many", () => {
  const decisions = many(40, (at) => `decision ${at} holds`);
  const text = contextText({ ...NOTHING, decisions }, null) ?? "";
  for (const decision of decisions) expect(text).toContain(`- ${decision}\n`.trimEnd());
  expect(text).not.toContain("not shown");
});

test("long items are cut before any leaves", () => {
  const decisions = many(25, (at) => `decision ${at}: ${"because of this and that ".repeat(9)}`);
  const text = contextText({ ...NOTHING, decisions }, null) ?? "";
  for (const at of decisions.keys()) expect(text).toContain(`- decision ${at + 1}: because`);
  expect(estimateTokens(text)).toBeLessThan(850);
});

test.each([
  ["words", (at: number) => `item ${at}: ${"the same words again ".repeat(20)}`],
  ["Han", (at: number) => `item ${at}: ${"漢字".repeat(200)}`],
])("of what does not fit, the oldest and the newest items stay, in %s", (_name, item) => {
  const noted = { ...NOTHING, goals: ["ship it"], decisions: many(900, item), constraints: many(900, item) };
  const text = contextText({ ...noted, openLoops: many(900, item) }, null) ?? "";
  expect(estimateTokens(text)).toBeLessThan(1300);
  const decided = text.slice(text.indexOf("Decisions:"), text.indexOf("Constraints:"));
  expect(text).toContain("- ship it");
  expect(decided).toContain("- item 1: ");
  expect(decided).toContain("- item 900: ");
  expect(decided).toMatch(/\(8\d\d more are not shown\)/);
});

test("of open loops the newest stay", () => {
  const text = contextText({ ...NOTHING, openLoops: many(30, (at) => `loop ${at}`) }, null) ?? "";
  expect(text).toContain("- (10 more are not shown)\n- loop 11\n");
  expect(text).toMatch(/- loop 30$/);
});
