/**
 * Server-sent events as OpenAI's clients read them. Until the first text or heartbeat nothing is sent, so that what fails
 * before it is an HTTP error; afterwards an event tells.
 */
import { ApiError } from "./openai-error.ts";
import type { Performance, Progress } from "./perform-run.ts";

export interface EventWriter {
  /** Before anything else. */
  begin(): string;
  write(progress: Exclude<Progress, { readonly kind: "heartbeat" }>): string;
  fail(error: ApiError): string;
}

const HEARTBEAT = ": waiting\n\n";
const encoder = new TextEncoder();

export function eventOf(data: unknown, name: string | null = null): string {
  return `${name === null ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

export const DONE = "data: [DONE]\n\n";

export async function streamOf(
  { progress }: Performance,
  writer: EventWriter,
  headers: Record<string, string>,
): Promise<Response> {
  const first = await progress.next();
  const body = ReadableStream.from(bytesOf(events(first, progress, writer)));
  return new Response(body, { headers: { ...headers, "content-type": "text/event-stream; charset=utf-8" } });
}

async function* events(
  first: IteratorResult<Progress, void>,
  progress: Performance["progress"],
  writer: EventWriter,
): AsyncGenerator<string, void> {
  yield writer.begin();
  try {
    for (let result = first; result.done !== true; result = await progress.next()) {
      yield result.value.kind === "heartbeat" ? HEARTBEAT : writer.write(result.value);
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    yield writer.fail(error);
  }
}

async function* bytesOf(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array, void> {
  for await (const text of texts) if (text !== "") yield encoder.encode(text);
}
