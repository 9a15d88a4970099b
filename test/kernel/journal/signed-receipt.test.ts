/** a receipt proves what its home said, and nothing else passes for it. */
import { describe, expect, test } from "vitest";
import { signReceipt, verifyReceipt } from "../../../src/kernel/journal/signed-receipt.ts";
import type { Receipt } from "../../../src/kernel/journal/views/receipt.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asRunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../requirements.ts";
import { PUBLIC_KEY, sign, TRUSTED } from "./toy-key.ts";

const RECEIPT: Receipt = {
  model: "some:model",
  model_fingerprint: "model-1",
  tokens: 150,
  cost_usd: 0.00012,
  contract_hash: hashBytes("contract"),
  outcome: "COMPLETED_CHAT_ONLY",
  head_hash: hashBytes("head"),
};
const signed = signReceipt(asRunId("run_1"), RECEIPT, { publicKey: PUBLIC_KEY, sign });
const verified = (receipt: object) => verifyReceipt(JSON.stringify(receipt), TRUSTED);

describe("a signed receipt", () => {
  verifies("X-10/receipt", "names model, tokens, cost, contract, outcome and head, and verifies offline", () => {
    expect(signed).toMatchObject({ run_id: "run_1", ...RECEIPT });
    expect(verified(signed)).toEqual({ ok: true, receipt: signed, publicKey: PUBLIC_KEY });
    expect(verifyReceipt(JSON.stringify(signed, null, 2), TRUSTED).ok).toBe(true);
  });

  test.each(
    Object.entries(signed).map(([field, value]) => [
      field,
      typeof value === "number" ? value + 1 : `${String(value).slice(0, -1)}#`,
    ]),
  )("does not verify with another %s", (field, value) => {
    expect(verified({ ...signed, [field]: value }).ok).toBe(false);
  });

  test("does not verify with a field more or less, or unsigned", () => {
    const { tokens: _, ...less } = signed;
    expect(verified(less)).toMatchObject({ ok: false });
    expect(verified({ ...signed, paid: true })).toMatchObject({ ok: false });
    const unsigned = signReceipt(asRunId("run_1"), RECEIPT, { publicKey: null, sign });
    expect(unsigned).toMatchObject({ ...RECEIPT, public_key: null, signature: null });
    expect(verified(unsigned)).toEqual({ ok: false, problem: "it is not signed" });
    expect(verifyReceipt("{", TRUSTED)).toMatchObject({ ok: false });
  });
});
