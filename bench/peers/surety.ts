/** Ourselves, in a process like the peers'. */
import { join } from "node:path";
import { configFor, makeHome, openScene } from "../scene.ts";
import { measurePeer } from "./agent-loop.ts";

await measurePeer(async ({ baseUrl, scratch }) => {
  const scene = await openScene(await makeHome(join(scratch, "home")), configFor(baseUrl));
  return (turns) => scene.run({ turns, tool: "fs.read_text" });
});
