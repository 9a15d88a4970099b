/**
 * A program of a few system calls, as an ELF file for Linux. It stands where a shell cannot: shells close descriptors
 * below 10 only.
 *
 * P1. It makes its calls in order and ends with the exit code of the first one that fails.
 * P2. Then it becomes the program that its own first word names, with the words after it and the same environment.
 * P3. It has no branch except P1, reads no input and writes no memory: all arguments are fixed when it is assembled.
 */
import type { Architecture } from "./seccomp-filter.ts";

export interface SystemCall {
  readonly number: number;
  /** Bytes are passed by address. */
  readonly args: readonly (number | Uint8Array)[];
  readonly exitCodeOnFailure: number;
}

interface Machine {
  readonly elf: number;
  readonly exit: number;
  readonly execve: number;
  readonly start: readonly number[];
  load(register: number, value: bigint): readonly number[];
  readonly enterKernel: readonly number[];
  /** Skips the next `bytes` of code if the last call succeeded. */
  skipAfterSuccess(bytes: number): readonly number[];
  /** The arguments of execve: the words after the first, and the environment behind them. */
  readonly loadOwnWords: readonly number[];
}

/** The register of the call's number; the others are arguments, by position. */
const NUMBER = -1;
const NO_SUCH_PROGRAM = 127;

const X64: Machine = {
  elf: 62,
  exit: 60,
  execve: 59,
  // mov rbx, rsp
  start: [0x48, 0x89, 0xe3],
  // mov rax | rdi | rsi | rdx | r10 | r8, value
  load: (register, value) => [
    ...([
      [0x48, 0xb8],
      [0x48, 0xbf],
      [0x48, 0xbe],
      [0x48, 0xba],
      [0x49, 0xba],
      [0x49, 0xb8],
    ][register + 1] ?? []),
    ...littleEndian(value, 8),
  ],
  // syscall
  enterKernel: [0x0f, 0x05],
  // test rax, rax; jns
  skipAfterSuccess: (bytes) => [0x48, 0x85, 0xc0, 0x79, bytes],
  // mov rdi, [rbx+16]; lea rsi, [rbx+16]; mov rcx, [rbx]; lea rdx, [rbx+rcx*8+16]
  loadOwnWords: [0x48, 0x8b, 0x7b, 0x10, 0x48, 0x8d, 0x73, 0x10, 0x48, 0x8b, 0x0b, 0x48, 0x8d, 0x54, 0xcb, 0x10],
};

const ARM64: Machine = {
  elf: 183,
  exit: 93,
  execve: 221,
  // mov x19, sp
  start: words(0x910003f3),
  // movz, movk, movk, movk of x8 | x0 … x5
  load: (register, value) =>
    words(
      ...[0xd2800000, 0xf2a00000, 0xf2c00000, 0xf2e00000].map((move, quarter) => {
        const part = Number((value >> BigInt(16 * quarter)) & 0xffffn);
        return move + part * 32 + (register === NUMBER ? 8 : register);
      }),
    ),
  // svc #0
  enterKernel: words(0xd4000001),
  // tbz x0, #63
  skipAfterSuccess: (bytes) => words(0xb6f80000 + (bytes / 4 + 1) * 32),
  // ldr x0, [x19, #16]; add x1, x19, #16; ldr x2, [x19]; add x2, x19, x2, lsl #3; add x2, x2, #16
  loadOwnWords: words(0xf9400a60, 0x91004261, 0xf9400262, 0x8b020e62, 0x91004042),
};

const MACHINES: Readonly<Record<Architecture, Machine>> = { x64: X64, arm64: ARM64 };

const LOADED_AT = 0x400000;
/** The largest page of either machine. */
const PAGE = 0x10000;
const HEADER_BYTES = 64 + 56;

export function assembleProgram(architecture: Architecture, calls: readonly SystemCall[]): Uint8Array {
  const machine = MACHINES[architecture];
  const codeBytes = codeOf(machine, calls, 0).length;
  const code = codeOf(machine, calls, LOADED_AT + HEADER_BYTES + codeBytes);
  return Uint8Array.from([...headersOf(machine, HEADER_BYTES + code.length), ...code]);
}

/** The code, and behind it the bytes that its calls refer to. Its length does not depend on the address. */
function codeOf(machine: Machine, calls: readonly SystemCall[], dataAt: number): readonly number[] {
  const data: number[] = [];
  const code = [...machine.start];
  for (const { number, args, exitCodeOnFailure } of calls) {
    const values = args.map((arg) => {
      if (typeof arg === "number") return arg;
      const address = dataAt + data.length;
      data.push(...arg);
      return address;
    });
    const exit = call(machine, machine.exit, [exitCodeOnFailure]);
    code.push(...call(machine, number, values), ...machine.skipAfterSuccess(exit.length), ...exit);
  }
  code.push(...machine.loadOwnWords, ...call(machine, machine.execve, []));
  code.push(...call(machine, machine.exit, [NO_SUCH_PROGRAM]));
  return dataAt === 0 ? code : [...code, ...data];
}

function call({ load, enterKernel }: Machine, number: number, args: readonly number[]): readonly number[] {
  const loaded = args.flatMap((value, register) => load(register, BigInt.asUintN(64, BigInt(value))));
  return [...loaded, ...load(NUMBER, BigInt(number)), ...enterKernel];
}

/** `Elf64_Ehdr` and one `Elf64_Phdr`: the whole file, readable and executable. */
function headersOf({ elf }: Machine, fileBytes: number): readonly number[] {
  const field = (bytes: number, ...values: readonly number[]): readonly number[] =>
    values.flatMap((value) => littleEndian(BigInt(value), bytes));
  const EXECUTABLE = 2;
  const VERSION = 1;
  const PT_LOAD = 1;
  const READ_AND_EXECUTE = 5;
  return [
    ...[0x7f, 0x45, 0x4c, 0x46, 2, 1, VERSION, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ...[...field(2, EXECUTABLE, elf), ...field(4, VERSION)],
    // Entry, program headers, section headers, flags, sizes and counts.
    ...[...field(8, LOADED_AT + HEADER_BYTES, 64, 0), ...field(4, 0), ...field(2, 64, 56, 1, 64, 0, 0)],
    ...[...field(4, PT_LOAD, READ_AND_EXECUTE), ...field(8, 0, LOADED_AT, LOADED_AT, fileBytes, fileBytes, PAGE)],
  ];
}

function words(...instructions: readonly number[]): readonly number[] {
  return instructions.flatMap((instruction) => littleEndian(BigInt(instruction), 4));
}

function littleEndian(value: bigint, bytes: number): readonly number[] {
  return Array.from({ length: bytes }, (_, index) => Number((value >> BigInt(8 * index)) & 0xffn));
}
