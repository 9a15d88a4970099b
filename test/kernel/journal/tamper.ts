/** Every way to change a file by one byte or one line, and where the change begins. */
export interface Tampered {
  readonly how: string;
  readonly bytes: Uint8Array;
}

const NEWLINE = 0x0a;
/** Neighbouring digits and letters, and letter case. */
const BIT_FLIPS = [1, 4, 32];
const STRANGERS = [NEWLINE, 0x30];

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function replaced(bytes: Uint8Array, at: number, byte: number): Tampered {
  return { how: `byte ${at} is ${byte}`, bytes: bytes.with(at, byte) };
}

function deleted(bytes: Uint8Array, at: number): Tampered {
  return { how: `byte ${at} is gone`, bytes: splice(bytes, at, 1, []) };
}

function inserted(bytes: Uint8Array, at: number, byte: number): Tampered {
  return { how: `${byte} stands before byte ${at}`, bytes: splice(bytes, at, 0, [byte]) };
}

/** What a writer that died can leave: everything up to some byte. */
export function cut(bytes: Uint8Array, at: number): Tampered {
  return { how: `cut at byte ${at}`, bytes: bytes.slice(0, at) };
}

export function* everyByteTampering(bytes: Uint8Array): Generator<Tampered> {
  for (const [at, byte] of bytes.entries()) {
    for (const bit of BIT_FLIPS) yield replaced(bytes, at, byte ^ bit);
    for (const stranger of STRANGERS) {
      if (stranger !== byte) yield replaced(bytes, at, stranger);
      yield inserted(bytes, at, stranger);
    }
    yield deleted(bytes, at);
    yield cut(bytes, at);
  }
  for (const stranger of STRANGERS) yield inserted(bytes, bytes.length, stranger);
}

/** One of all tamperings there are, as `choose` picks it. */
export function anyTampering(bytes: Uint8Array, choose: () => number): Tampered {
  const at = choose() % bytes.length;
  const byte = choose() % 256;
  const other = byte === bytes[at] ? byte ^ 128 : byte;
  const all = [replaced(bytes, at, other), inserted(bytes, at, byte), deleted(bytes, at), cut(bytes, at)];
  return all[choose() % all.length] as Tampered;
}

/** Those among these changes whose first changed line is not where `faultIn` finds fault. */
export function misplaced(
  original: Uint8Array,
  tamperings: Iterable<Tampered>,
  faultIn: (bytes: Uint8Array) => number,
): readonly string[] {
  const found: string[] = [];
  for (const { how, bytes } of tamperings) {
    const [line, fault] = [firstChangedLine(original, bytes), faultIn(bytes)];
    if (fault !== line) found.push(`${how}: line ${line}, found in ${fault}`);
  }
  return found;
}

/** Lines swapped, deleted, repeated. */
export function* everyLineTampering(lines: readonly string[]): Generator<Tampered> {
  const file = (how: string, changed: readonly string[]): Tampered => ({ how, bytes: encode(changed.join("")) });
  for (const [at, line] of lines.entries()) {
    yield file(`line ${at + 1} is gone`, lines.toSpliced(at, 1));
    for (const [other, otherLine] of lines.entries()) {
      yield file(`line ${at + 1} again before line ${other + 1}`, lines.toSpliced(other, 0, line));
      if (other > at)
        yield file(`lines ${at + 1} and ${other + 1} swapped`, lines.with(at, otherLine).with(other, line));
    }
    yield file(`line ${at + 1} again at the end`, [...lines, line]);
  }
}

/** The line, from 1, with the first byte that differs. */
function firstChangedLine(original: Uint8Array, bytes: Uint8Array): number {
  let line = 1;
  for (let at = 0; at < original.length && original[at] === bytes[at]; at += 1) if (original[at] === NEWLINE) line += 1;
  return line;
}

function splice(bytes: Uint8Array, at: number, deleteCount: number, insert: readonly number[]): Uint8Array {
  const spliced = new Uint8Array(bytes.length - deleteCount + insert.length);
  spliced.set(bytes.subarray(0, at));
  spliced.set(insert, at);
  spliced.set(bytes.subarray(at + deleteCount), at + insert.length);
  return spliced;
}
