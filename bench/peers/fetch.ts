/** The plain loop, in a process like the peers': what they are compared with. */
import { fetchLoop } from "../plain-loops.ts";
import { measurePeer, SYSTEM } from "./agent-loop.ts";

await measurePeer(({ baseUrl, workspace }) => {
  const messages = [{ role: "system", content: SYSTEM }];
  return Promise.resolve(fetchLoop(baseUrl, workspace, { model: "scripted", messages }));
});
