/**
 * A Vite plugin that takes Node away from the kernel and its tests, as a browser would.
 *
 * N1. The condition `node` is off, so that package.json's subpath imports lead to their portable targets.
 * N2. No file of this repository may import a Node module, under any of its names.
 * N3. The twins for Node may not be loaded: were they, the portable ones would go untested.
 */
import { isBuiltin } from "node:module";
import type { Plugin } from "vitest/config";
import { readSourceFacts } from "./source-facts.ts";

const NODE_ONLY_FILES = ["sha256-node.ts", "schema-check-compiled.ts"].map((name) => `/src/kernel/vocabulary/${name}`);

export function withoutNode(): Plugin {
  return {
    name: "without-node",
    enforce: "pre",
    configEnvironment: {
      // Vitest adds the condition `node` to whatever a project asks for; last in line, we take it out again.
      order: "post",
      handler(_name, { resolve }) {
        if (resolve?.conditions) resolve.conditions = resolve.conditions.filter((condition) => condition !== "node");
      },
    },
    transform(text, id) {
      // Not resolveId: Vite lets Node's modules through before it asks a plugin.
      if (id.includes("/node_modules/") || !id.endsWith(".ts")) return;
      const builtin = readSourceFacts(text).imports.find(isBuiltin);
      if (builtin !== undefined) throw new Error(`${id} imports ${builtin}, which no browser has.`);
    },
    load(id) {
      if (NODE_ONLY_FILES.some((file) => id.endsWith(file)))
        throw new Error(`${id} was loaded where only its portable twin should be.`);
    },
  };
}
