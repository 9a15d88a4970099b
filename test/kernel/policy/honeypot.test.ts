import { describe, expect, test } from "vitest";
import { type HoneypotFacts, isHoneypotSend } from "../../../src/kernel/policy/honeypot.ts";
import { verifies } from "../../requirements.ts";
import { policy } from "./question.ts";

const terms = policy({ honeypot: { templates: ["bait", "welcome"], recipientTypes: ["trap"], perHour: 3 } });
const facts: HoneypotFacts = { templateId: "bait", recipientType: "trap", links: 0, attachments: 0, sentLastHour: 2 };

describe("isHoneypotSend", () => {
  verifies("P-3.3", "a honeypot send needs all five conditions: each one broken alone refuses it", () => {
    expect(isHoneypotSend(terms, facts)).toBe(true);
    const broken: Partial<HoneypotFacts>[] = [
      { templateId: "invoice" },
      { recipientType: "customer" },
      { links: 1 },
      { attachments: 1 },
      { sentLastHour: 3 },
    ];
    expect(broken.map((change) => isHoneypotSend(terms, { ...facts, ...change }))).toEqual(broken.map(() => false));
  });

  test("the rate counts this send: the third of three goes out, the fourth does not", () => {
    expect([0, 1, 2, 3, 4].map((sentLastHour) => isHoneypotSend(terms, { ...facts, sentLastHour }))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  test("nothing is a honeypot send while the policy names no template, no recipient type or no rate", () => {
    for (const off of [{ templates: [] }, { recipientTypes: [] }, { perHour: 0 }]) {
      const narrowed = policy({ honeypot: { ...terms.honeypot, ...off } });
      expect(isHoneypotSend(narrowed, { ...facts, sentLastHour: 0 })).toBe(false);
    }
  });

  test("templates and recipient types have no wildcards", () => {
    const wild = policy({ honeypot: { templates: ["*"], recipientTypes: ["*"], perHour: 3 } });
    expect(isHoneypotSend(wild, facts)).toBe(false);
    expect(isHoneypotSend(terms, { ...facts, templateId: "bai" })).toBe(false);
    expect(isHoneypotSend(terms, { ...facts, recipientType: "Trap" })).toBe(false);
  });

  test("a count that is not a number meets no condition", () => {
    for (const change of [{ links: Number.NaN }, { attachments: Number.NaN }, { sentLastHour: Number.NaN }]) {
      expect(isHoneypotSend(terms, { ...facts, ...change })).toBe(false);
    }
  });
});
