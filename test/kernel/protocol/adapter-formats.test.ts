/** Formats of adapters over time (M-P5.4): what an old version read, it reads for ever. */
import { describe, expect } from "vitest";
import {
  ADAPTER_CHANGES,
  ADAPTER_VERSIONS,
  adapterFor,
  newestAdapter,
} from "../../../src/kernel/protocol/adapter-for.ts";
import recorded from "../../fixtures/adapter-formats.json" with { type: "json" };
import { verifies } from "../../requirements.ts";

const read = (version: string, raw: (typeof recorded)[number]["raw"]) => {
  const result = adapterFor(version)?.adapt(raw, "lenient");
  const message = result?.canonicalMessage ?? null;
  const calls = message?.toolCalls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }));
  return {
    ...{ status: result?.status, failure_code: result?.failureCode },
    message: message === null ? null : { content: message.content, calls },
  };
};

describe("adapter formats", () => {
  verifies("M-P5.4", "each version reads its recorded answers as it did", () => {
    for (const { name, version, raw, ...expected } of recorded) {
      expect([name, version, read(version, raw)]).toEqual([name, version, expected]);
    }
    expect(new Set(recorded.map(({ version }) => version))).toEqual(new Set(ADAPTER_VERSIONS));
  });

  verifies("M-P5.4", "a change of a format has a version, a reason, and an answer that it reads otherwise", () => {
    for (const { from, to, reason } of ADAPTER_CHANGES) {
      expect(reason).not.toBe("");
      expect(to.split("@")[0]).toBe(from.split("@")[0]);
      expect(Number(to.split("@")[1])).toBe(Number(from.split("@")[1]) + 1);
      const differs = recorded.some(({ version, raw }) => {
        return version === from && JSON.stringify(read(from, raw)) !== JSON.stringify(read(to, raw));
      });
      expect([from, differs]).toEqual([from, true]);
    }
    const numbered = ADAPTER_VERSIONS.filter((version) => !version.endsWith("@1"));
    expect(ADAPTER_CHANGES.map(({ to }) => to).toSorted()).toEqual(numbered.toSorted());
  });

  verifies("M-P5.4", "a new contract gets the newest version", () => {
    expect(["native-tools@1", "marker-json@1", "marker-json@2", "grammar-json@1"].map(newestAdapter)).toEqual([
      ...["native-tools@2", "marker-json@2", "marker-json@2", "grammar-json@1"],
    ]);
  });
});
