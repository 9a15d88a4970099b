/** What a run's first request holds, as a server received it: the loops beside a run begin with the same words. */
import { answer, type ChatRequestBody, startOpenAiServer } from "../test/loopback/openai-server.ts";
import { configFor, makeHome, openScene, removeDirectory, temporaryDirectory } from "./scene.ts";

export async function firstRequest(message: string): Promise<ChatRequestBody> {
  const server = await startOpenAiServer(() => answer({ text: "Hello." }));
  const directory = await temporaryDirectory();
  const scene = await openScene(await makeHome(directory), configFor(server.baseUrl));
  try {
    await scene.submit({ message });
    const [request] = server.requests;
    if (request === undefined) throw new Error("the model was not asked");
    return request.body;
  } finally {
    await scene.close();
    await server.close();
    await removeDirectory(directory);
  }
}
