/**
 * A model of llama's architecture with random weights, as a GGUF file of about 300 kB. Its tokens are the 256 bytes, so it can
 * write any text, and writes noise.
 */
export interface TinyModel {
  readonly seed?: number;
  readonly contextLength?: number;
  /** Its width decides the size of the file: 128 for 300 kB. */
  readonly feedForward?: number;
  /** In Jinja; absent: none. */
  readonly template?: string;
}

const DIMENSIONS = 64;
const HEADS = 4;
/** The bytes, the start and the end. */
const VOCABULARY = 258;
const ALIGNMENT = 32;

type Entry = readonly [key: string, type: "u32" | "f32" | "bool" | "string" | "strings" | "i32s", value: unknown];

export const TINY_CONTEXT = 32_768;
const END_TOKEN = 257;

export function tinyGguf({
  seed = 1,
  contextLength = TINY_CONTEXT,
  feedForward = 128,
  template,
}: TinyModel = {}): Buffer {
  const entries: readonly Entry[] = [
    ["general.architecture", "string", "llama"],
    ["general.name", "string", "tiny"],
    ["llama.context_length", "u32", contextLength],
    ["llama.embedding_length", "u32", DIMENSIONS],
    ["llama.block_count", "u32", 1],
    ["llama.feed_forward_length", "u32", feedForward],
    ["llama.attention.head_count", "u32", HEADS],
    ["llama.attention.head_count_kv", "u32", HEADS],
    ["llama.attention.layer_norm_rms_epsilon", "f32", 1e-5],
    ["llama.rope.dimension_count", "u32", DIMENSIONS / HEADS],
    ["llama.vocab_size", "u32", VOCABULARY],
    ["tokenizer.ggml.model", "string", "gpt2"],
    ["tokenizer.ggml.pre", "string", "default"],
    ["tokenizer.ggml.tokens", "strings", [...byteLetters(), "<|start|>", "<|end|>"]],
    ["tokenizer.ggml.token_type", "i32s", [...new Array<number>(256).fill(1), 3, 3]],
    ["tokenizer.ggml.merges", "strings", []],
    ["tokenizer.ggml.bos_token_id", "u32", VOCABULARY - 2],
    ["tokenizer.ggml.eos_token_id", "u32", END_TOKEN],
    ["tokenizer.ggml.add_bos_token", "bool", false],
    ...(template === undefined ? [] : [["tokenizer.chat_template", "string", template] as const]),
  ];
  const tensors = tensorsOf(feedForward);
  const random = numbersFrom(seed);
  let offset = 0;
  const infos: Buffer[] = [];
  const weights: Buffer[] = [];
  for (const [name, shape] of tensors) {
    infos.push(text(name), u32(shape.length), ...shape.map(u64), u32(0), u64(offset));
    const values = Float32Array.from({ length: shape.reduce((product, size) => product * size, 1) }, () =>
      name.includes("norm") ? 1 : (random() - 0.5) / 8,
    );
    const bytes = padded(Buffer.from(values.buffer));
    weights.push(bytes);
    offset += bytes.length;
  }
  const head = [Buffer.from("GGUF"), u32(3), u64(tensors.length), u64(entries.length)];
  const metadata = entries.flatMap(([key, type, value]) => [text(key), encode(type, value)]);
  return Buffer.concat([padded(Buffer.concat([...head, ...metadata, ...infos])), ...weights]);
}

function tensorsOf(feedForward: number): readonly (readonly [name: string, shape: readonly number[]])[] {
  return [
    ["token_embd.weight", [DIMENSIONS, VOCABULARY]],
    ["blk.0.attn_norm.weight", [DIMENSIONS]],
    ["blk.0.attn_q.weight", [DIMENSIONS, DIMENSIONS]],
    ["blk.0.attn_k.weight", [DIMENSIONS, DIMENSIONS]],
    ["blk.0.attn_v.weight", [DIMENSIONS, DIMENSIONS]],
    ["blk.0.attn_output.weight", [DIMENSIONS, DIMENSIONS]],
    ["blk.0.ffn_norm.weight", [DIMENSIONS]],
    ["blk.0.ffn_gate.weight", [DIMENSIONS, feedForward]],
    ["blk.0.ffn_up.weight", [DIMENSIONS, feedForward]],
    ["blk.0.ffn_down.weight", [feedForward, DIMENSIONS]],
    ["output_norm.weight", [DIMENSIONS]],
    ["output.weight", [DIMENSIONS, VOCABULARY]],
  ];
}

function encode(type: Entry[1], value: unknown): Buffer {
  const list = value as readonly never[];
  switch (type) {
    case "u32":
      return Buffer.concat([u32(4), u32(value as number)]);
    case "f32":
      return Buffer.concat([u32(6), written(4, (bytes) => bytes.writeFloatLE(value as number))]);
    case "bool":
      return Buffer.concat([u32(7), Buffer.from([value === true ? 1 : 0])]);
    case "string":
      return Buffer.concat([u32(8), text(value as string)]);
    case "strings":
      return Buffer.concat([u32(9), u32(8), u64(list.length), ...list.map(text)]);
    case "i32s":
      return Buffer.concat([u32(9), u32(5), u64(list.length), ...list.map(u32)]);
  }
}

function written(size: number, write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(size);
  write(bytes);
  return bytes;
}

function u32(value: number): Buffer {
  return written(4, (bytes) => bytes.writeUInt32LE(value));
}

function u64(value: number): Buffer {
  return written(8, (bytes) => bytes.writeBigUInt64LE(BigInt(value)));
}

function text(value: string): Buffer {
  return Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
}

function padded(bytes: Buffer): Buffer {
  const length = Math.ceil(bytes.length / ALIGNMENT) * ALIGNMENT;
  return Buffer.concat([bytes, Buffer.alloc(length - bytes.length)]);
}

/** How byte-level tokenizers write each byte: as itself if it is printable, otherwise as a letter beyond Latin-1. */
function byteLetters(): readonly string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    return String.fromCodePoint(isPrintable ? byte : next++);
  });
}

/** From 0 to 1, the same for the same seed (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
