/** The module `virtual:operations`: method and path of each operation, and the commands of a chat, as the gateway has them. */
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
      const rows = OPERATIONS.map(({ name, method, path, kind, ...rest }) => {
        const bodyField = "bodyField" in rest ? [rest.bodyField] : [];
        return [name, [method, path, kind, ...bodyField]];
      });
      const { CHAT_COMMANDS } = await import("../src/assistant/sessions/chat-command.ts");
      const commands = Object.entries(CHAT_COMMANDS).map(([name, described]) => ({ name, ...described }));
      return `export const OPERATIONS = ${JSON.stringify(Object.fromEntries(rows))};
        export const CHAT_COMMANDS = ${JSON.stringify(commands)};`;
    },
  };
}
