/**
 * LangGraph's prebuilt agent with its SQLite checkpointer: a checkpoint after every node.
 *
 * Its own driver, better-sqlite3, has to be compiled for the Node at hand; here node:sqlite stands in for it, which is
 * as fast, behind the few methods that the checkpointer calls.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { loaderFrom, measurePeer, promptFor, readNote, SYSTEM } from "./agent-loop.ts";

interface Agents {
  createReactAgent(options: object): { invoke(input: object, config: object): Promise<unknown> };
}
interface Saver {
  SqliteSaver: new (db: object) => object;
}
interface OpenAi {
  ChatOpenAI: new (options: object) => object;
}
interface Tools {
  tool(run: (input: { readonly path: string }) => Promise<string>, definition: object): object;
}

let threads = 0;

await measurePeer(async (setting) => {
  const load = loaderFrom(setting.packages);
  const { createReactAgent } = (await load("@langchain/langgraph/prebuilt")) as Agents;
  const { SqliteSaver } = (await load("@langchain/langgraph-checkpoint-sqlite")) as Saver;
  const { ChatOpenAI } = (await load("@langchain/openai")) as OpenAi;
  const { tool } = (await load("@langchain/core/tools")) as Tools;
  const configuration = { baseURL: setting.baseUrl };
  const llm = new ChatOpenAI({ model: "scripted", apiKey: "none-needed", configuration, maxRetries: 0 });
  const readText = tool(({ path }) => readNote(setting, path), {
    name: "fs__read_text",
    description: "Read the beginning of a text file in the workspace.",
    schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  });
  const checkpointSaver = new SqliteSaver(databaseAt(join(setting.scratch, "langgraph.db")));
  const agent = createReactAgent({ llm, tools: [readText], prompt: SYSTEM, checkpointSaver });
  return async (turns) => {
    threads += 1;
    const config = { configurable: { thread_id: `bench-${threads}` }, recursionLimit: 2 * turns + 5 };
    await agent.invoke({ messages: [{ role: "user", content: promptFor(turns) }] }, config);
  };
});

function databaseAt(file: string): object {
  const db = new DatabaseSync(file);
  return {
    pragma: (text: string) => db.exec(`PRAGMA ${text}`),
    exec: (sql: string) => db.exec(sql),
    prepare: (sql: string) => db.prepare(sql),
    transaction:
      (work: (...args: readonly unknown[]) => unknown) =>
      (...args: readonly unknown[]) => {
        db.exec("BEGIN");
        try {
          const result = work(...args);
          db.exec("COMMIT");
          return result;
        } catch (error) {
          db.exec("ROLLBACK");
          throw error;
        }
      },
  };
}
