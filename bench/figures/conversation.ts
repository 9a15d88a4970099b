/**
 * One conversation of a thousand turns, each with a tool call: does a turn late in it take longer than an early one? Its
 * compactions are counted in, since they wait in the same lane.
 */
import { answer, startOpenAiServer } from "../../test/loopback/openai-server.ts";
import { elapsedMs, median } from "../blocks.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import type { Row } from "../row.ts";
import { configFor, FILES, makeHome, openScene, removeDirectory, temporaryDirectory } from "../scene.ts";

const BLOCK = 50;
/** Blocks that count at each end; the first turns are left out, since the prompt still grows. */
const COUNTED = 2;

export const conversation: Figure = { name: "conversation", measure };

async function measure({ isQuick }: BenchWorld): Promise<readonly Row[]> {
  const turns = isQuick ? 400 : 1000;
  const model = await startOpenAiServer(
    ({ body }) => {
      const last = body.messages.at(-1);
      if (body.tools === undefined) return answer({ text: "Notes were read one by one; nothing is open." });
      if (last?.role === "tool") return answer({ text: "It is a short note, as it was expected to be." });
      const number = String(last?.["content"] ?? "").replace(/\D/g, "");
      return answer({ calls: [{ name: "fs.read_text", arguments: { path: `n${number.padStart(3, "0")}.txt` } }] });
    },
    { keepsRequests: false },
  );
  const directory = await temporaryDirectory();
  const scene = await openScene(await makeHome(directory), configFor(model.baseUrl));
  try {
    const created = await scene.surety.operations.call("sessions.create", { channel: "cli" });
    if (!created.ok) throw new Error(created.message);
    const sessionId = created.value.id as Parameters<typeof scene.submit>[0]["sessionId"] & string;
    const perTurn: number[] = [];
    for (let turn = 0; turn < turns; turn += BLOCK) {
      const ms = await elapsedMs(async () => {
        for (let at = turn; at < turn + BLOCK; at += 1) {
          await scene.submit({ message: `read note ${at % FILES}`, sessionId });
        }
      });
      perTurn.push(ms / BLOCK);
    }
    const early = perTurn.slice(COUNTED, 2 * COUNTED);
    const late = perTurn.slice(-COUNTED);
    const value = median(late) / median(early);
    return [
      {
        name: `time per turn of a conversation, turns ${turns - COUNTED * BLOCK + 1}–${turns} ÷ 101–200`,
        value,
        spread: value * Math.abs((early[1] ?? 0) / (early[0] ?? 1) - 1),
        unit: "",
        bound: { is: "at most", must: 1.3 },
        note: `${median(late).toFixed(1)} and ${median(early).toFixed(1)} ms`,
      },
    ];
  } finally {
    await scene.close();
    await model.close();
    await removeDirectory(directory);
  }
}
