/** The module `virtual:operations`: method and path of each operation, from the table that the gateway serves. */
import type { Plugin } from "vite";

const ID = "virtual:operations";
const RESOLVED = `\0${ID}`;

export function operationTable(): Plugin {
  return {
    name: "surety-operations",
    resolveId: (id) => (id === ID ? RESOLVED : null),
    async load(id) {
      if (id !== RESOLVED) return null;
      const { OPERATIONS } = await import("../src/assistant/operations.ts");
      const rows = OPERATIONS.map(({ name, method, path, kind }) => [name, [method, path, kind]]);
      return `export const OPERATIONS = ${JSON.stringify(Object.fromEntries(rows))};`;
    },
  };
}
