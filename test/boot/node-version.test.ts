import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { nodeProblem, OLDEST_NODE } from "../../src/boot/node-version.ts";

describe("the Node that Surety is started with", () => {
  it.each(["24.16.0", "24.16.1", "24.17.0", "25.0.0", "26.10.0", "100.0.0"])("%s will do", (version) => {
    expect(nodeProblem(version)).toBeNull();
  });

  it.each(["24.15.9", "24.9.0", "22.20.0", "20.20.2", "9.99.99"])(
    "%s is refused with the version that is needed",
    (version) => {
      const [what, todo] = nodeProblem(version)?.split("\n") ?? [];
      expect(what).toBe(`error node.too-old: Surety needs Node 24.16.0 or newer; this is ${version}.`);
      expect(todo).toContain("npm run surety");
    },
  );

  it("is the one that the package asks for", async () => {
    const { engines } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    expect(engines.node).toBe(`>=${OLDEST_NODE}`);
  });
});
