/** What `figures/syncs.ts` counts the syncs of: a home is opened, worked on and closed. */
import { findHome } from "../src/boot/home.ts";
import { configFor, openScene, type Task } from "./scene.ts";

const [directory = "", baseUrl = "", tool = "", runs = "0", atOnce = "1", turns = "10"] = process.argv.slice(2);
const scene = await openScene(
  findHome(directory, () => undefined),
  configFor(baseUrl),
);
const task: Task = { turns: Number(turns), tool: tool === "fs.write_text" ? tool : "fs.read_text" };
let left = Number(runs);
await Promise.all(
  Array.from({ length: Number(atOnce) }, async () => {
    while (left > 0) {
      left -= 1;
      await scene.run(task);
    }
  }),
);
await scene.close();
