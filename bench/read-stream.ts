/** A streamed chat completion put together as anybody would: global `fetch`, a decoder, lines, `JSON.parse`. */
export interface ChatMessage {
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

interface Chunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function: { readonly name?: string; readonly arguments?: string };
      }[];
    };
  }[];
}

export async function readStream(response: Response): Promise<ChatMessage> {
  const calls: { id: string; type: "function"; function: { name: string; arguments: string } }[] = [];
  let content = "";
  const take = ({ choices }: Chunk): void => {
    const delta = choices[0]?.delta;
    content += delta?.content ?? "";
    for (const { index, id, function: called } of delta?.tool_calls ?? []) {
      const call = calls[index] ?? { id: id ?? "", type: "function", function: { name: "", arguments: "" } };
      calls[index] = call;
      call.function.name += called.name ?? "";
      call.function.arguments += called.arguments ?? "";
    }
  };
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of response.body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const data = line.startsWith("data: ") ? line.slice("data: ".length) : "[DONE]";
      if (data !== "[DONE]") take(JSON.parse(data) as Chunk);
    }
  }
  return calls.length === 0 ? { content } : { content: content || null, tool_calls: calls };
}
