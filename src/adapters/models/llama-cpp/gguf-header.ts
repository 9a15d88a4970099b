/**
 * The head of a GGUF file: what the model is, and whether the file holds all that it announces. It is read before llama.cpp
 * opens the file, which ends the process over some damage.
 *
 * F1. Nothing is allocated by a number in the file: all are checked against the bytes that are there.
 * F2. Values of arrays are passed over, so the head of a large vocabulary costs one walk.
 */
import { open } from "node:fs/promises";
import { LocalModelError } from "./local-model-error.ts";

export interface GgufHeader {
  readonly bytes: number;
  readonly architecture: string;
  readonly name: string | null;
  /** Tokens it was trained with; null if the file does not say. */
  readonly contextLength: number | null;
  /** Of one token in the context's memory; null if the file does not say. */
  readonly contextBytesPerToken: number | null;
  readonly hasChatTemplate: boolean;
}

const READ_BYTES = [1 << 20, 8 << 20, 64 << 20, 512 << 20];
const MAX_ENTRIES = 1 << 20;
const MAX_KEY_BYTES = 65_536;

export async function readGgufHeader(path: string): Promise<GgufHeader> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? "is not there" : `cannot be opened (${error.code ?? "unknown"})`;
    throw new LocalModelError("model.file-missing", `The model file ${path} ${why}: check modelPath.`);
  });
  try {
    const stat = await file.stat();
    if (!stat.isFile())
      throw new LocalModelError("model.file-missing", `The model file ${path} is no file: check modelPath.`);
    for (const limit of READ_BYTES) {
      const length = Math.min(limit, stat.size);
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, 0);
      const read = readHead(buffer.subarray(0, bytesRead), stat.size);
      if (typeof read === "object") return read;
      if (read !== MORE || length === stat.size) throw invalid(path, read === MORE ? "it ends within its head" : read);
    }
    throw invalid(path, "its head is longer than any model's");
  } finally {
    await file.close();
  }
}

function invalid(path: string, problem: string): LocalModelError {
  const message = `The model file ${path} is damaged or no GGUF file: ${problem}. Fetch it again.`;
  return new LocalModelError("model.file-invalid", message);
}

/** The head is longer than the bytes. */
const MORE = "more";

class Damage extends Error {}

function readHead(bytes: Buffer, fileBytes: number): GgufHeader | string {
  try {
    return parseHead(new Cursor(bytes), fileBytes);
  } catch (error) {
    if (error instanceof Damage) return error.message;
    throw error;
  }
}

type Facts = Map<string, number | string>;

function parseHead(cursor: Cursor, fileBytes: number): GgufHeader {
  if (cursor.text(4) !== "GGUF") throw new Damage("it does not begin with GGUF");
  const version = cursor.u32();
  if (version !== 2 && version !== 3) throw new Damage(`version ${version} of the format is not known`);
  const tensors = cursor.count("tensors");
  const entries = cursor.count("entries");
  const facts: Facts = new Map();
  for (let index = 0; index < entries; index += 1) {
    const key = cursor.string(MAX_KEY_BYTES);
    readValue(cursor, cursor.u32(), (value) => facts.set(key, value));
  }
  const alignment = numberIn(facts, "general.alignment") ?? 32;
  if (alignment < 1 || alignment > 65_536) throw new Damage("its alignment is absurd");
  let end = 0;
  for (let index = 0; index < tensors; index += 1) end = Math.max(end, readTensor(cursor, alignment));
  const needed = Math.ceil(cursor.at / alignment) * alignment + end;
  if (needed > fileBytes) throw new Damage(`it has ${fileBytes} bytes, and its tensors need ${needed}`);
  return describe(facts, fileBytes);
}

function describe(facts: Facts, bytes: number): GgufHeader {
  const architecture = textIn(facts, "general.architecture");
  if (architecture === null) throw new Damage("it names no architecture");
  const of = (key: string): number | null => numberIn(facts, `${architecture}.${key}`);
  const [layers, heads, width] = [of("block_count"), of("attention.head_count"), of("embedding_length")];
  const perHead = of("attention.key_length") ?? (width === null || heads === null ? null : width / heads);
  const kvHeads = of("attention.head_count_kv") ?? heads;
  const known = layers !== null && perHead !== null && kvHeads !== null;
  return {
    bytes,
    architecture,
    name: textIn(facts, "general.name"),
    contextLength: of("context_length"),
    // Keys and values, two bytes each.
    contextBytesPerToken: known ? layers * kvHeads * perHead * 4 : null,
    hasChatTemplate: facts.has("tokenizer.chat_template"),
  };
}

function numberIn(facts: Facts, key: string): number | null {
  const value = facts.get(key);
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}

function textIn(facts: Facts, key: string): string | null {
  const value = facts.get(key);
  return typeof value === "string" && value !== "" ? value : null;
}

const STRING = 8;
const ARRAY = 9;
/** Bytes of a value, by its type. */
const SIZES: Readonly<Record<number, number>> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };

function readValue(cursor: Cursor, type: number, keep: (value: number | string) => void): void {
  if (type === ARRAY) skipArray(cursor);
  else keep(type === STRING ? cursor.string(Number.MAX_SAFE_INTEGER) : cursor.number(type));
}

function skipArray(cursor: Cursor): void {
  const type = cursor.u32();
  const length = cursor.u64();
  if (type === ARRAY) throw new Damage("it holds arrays of arrays");
  if (type !== STRING) cursor.skip(length * sizeOf(type));
  else for (let index = 0; index < length; index += 1) cursor.skip(cursor.u64());
}

function sizeOf(type: number): number {
  const size = SIZES[type];
  if (size === undefined) throw new Damage(`it has a value of the unknown type ${type}`);
  return size;
}

const MAX_DIMENSIONS = 4;
/** Values in a block and its bytes, by the tensor's type. */
const BLOCKS: Readonly<Record<number, readonly [values: number, bytes: number]>> = {
  ...{ 0: [1, 4], 1: [1, 2], 2: [32, 18], 3: [32, 20], 6: [32, 22], 7: [32, 24], 8: [32, 34], 9: [32, 36] },
  ...{ 10: [256, 84], 11: [256, 110], 12: [256, 144], 13: [256, 176], 14: [256, 210], 15: [256, 292] },
  ...{ 16: [256, 66], 17: [256, 74], 18: [256, 98], 19: [256, 50], 20: [32, 18], 21: [256, 110], 22: [256, 82] },
  ...{ 23: [256, 136], 24: [1, 1], 25: [1, 2], 26: [1, 4], 27: [1, 8], 28: [1, 8], 29: [256, 56], 30: [1, 2] },
  ...{ 34: [256, 54], 35: [256, 66], 39: [32, 17] },
};

/** Where its values end, from the beginning of all values. */
function readTensor(cursor: Cursor, alignment: number): number {
  const name = cursor.string(MAX_KEY_BYTES);
  const dimensions = cursor.u32();
  if (dimensions < 1 || dimensions > MAX_DIMENSIONS) throw new Damage(`a tensor has ${dimensions} dimensions`);
  let values = 1;
  for (let index = 0; index < dimensions; index += 1) values *= cursor.u64();
  const block = BLOCKS[cursor.u32()];
  const offset = cursor.u64();
  if (values < 1 || values > Number.MAX_SAFE_INTEGER) throw new Damage(`the tensor ${JSON.stringify(name)} is absurd`);
  if (offset % alignment !== 0) throw new Damage(`the tensor ${JSON.stringify(name)} is not aligned`);
  // Of an unknown type only its beginning is checked.
  return offset + (block === undefined ? 0 : Math.ceil(values / block[0]) * block[1]);
}

class Cursor {
  at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  skip(length: number): void {
    this.#take(length);
  }

  text(length: number): string {
    const at = this.#take(length);
    return this.#bytes.toString("utf8", at, at + length);
  }

  string(most: number): string {
    const length = this.u64();
    if (length > most) throw new Damage("a name in it is absurdly long");
    return this.text(length);
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  u64(): number {
    const value = this.#bytes.readBigUInt64LE(this.#take(8));
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new Damage("a number in it is absurdly large");
    return Number(value);
  }

  count(what: string): number {
    const count = this.u64();
    if (count > MAX_ENTRIES) throw new Damage(`it announces ${count} ${what}`);
    return count;
  }

  number(type: number): number {
    const size = sizeOf(type);
    const at = this.#take(size);
    const bytes = this.#bytes;
    if (type === 6) return bytes.readFloatLE(at);
    if (type === 12) return bytes.readDoubleLE(at);
    if (size === 8) return Number(type === 11 ? bytes.readBigInt64LE(at) : bytes.readBigUInt64LE(at));
    return [1, 3, 5].includes(type) ? bytes.readIntLE(at, size) : bytes.readUIntLE(at, size);
  }

  #take(length: number): number {
    const { at } = this;
    if (at + length > this.#bytes.length) throw new Damage(MORE);
    this.at += length;
    return at;
  }
}
