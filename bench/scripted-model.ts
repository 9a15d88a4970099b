/**
 * The model of the benches: a process of its own on loopback that answers at once.
 *
 * The user's message says what to do: `turns=10 tool=fs.read_text` is ten calls of that tool, one a turn and each with
 * other arguments (a repeated call would be stopped by the cycle ban), then a short answer. Answers have one length, so
 * that requests grow by the same bytes every turn. Who asks for a stream gets one, an event at a time.
 */
import { type ChatScript, encodeDocument } from "../test/loopback/chat-wire.ts";
import { type Reply, startOpenAiServer } from "../test/loopback/openai-server.ts";

let answers = 0;

const server = await startOpenAiServer(
  ({ text }) => {
    const turns = Number(/turns=(\d+)/.exec(text)?.[1] ?? 0);
    const done = text.split('"role":"tool"').length - 1;
    const answer = text.includes('"stream":true') ? stream : whole;
    if (done >= turns) return answer({ text: "All of it is read." });
    const name = /tool=([a-z_.]+)/.exec(text)?.[1] ?? "fs.read_text";
    const number = String(done).padStart(3, "0");
    const args = name === "fs.write_text" ? { path: pathFor(text, number), text: `note ${number}` } : {};
    return answer({ calls: [{ name, id: `call_${number}`, arguments: { path: `n${number}.txt`, ...args } }] });
  },
  { keepsRequests: false },
);
console.log(server.baseUrl);
// Gone with whoever started it.
process.stdin.on("end", () => process.exit()).resume();

/** Each with an id of its own, as the real ones have: there are clients that take the same id for the same message. */
function whole(script: ChatScript): Reply {
  answers += 1;
  const body = encodeDocument(script).replace("chatcmpl-1", `chatcmpl-${answers}`);
  const headers = { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
  return { kind: "http", status: 200, headers, body };
}

function stream(script: ChatScript): Reply {
  return { kind: "answer", ...script, dialect: { writeBytes: "event" } };
}

/** A folder for each run: a file that is there is not written again. */
function pathFor(text: string, number: string): string {
  return `${/folder=([\w-]+)/.exec(text)?.[1] ?? "out"}/n${number}.txt`;
}
