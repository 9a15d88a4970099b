/**
 * The system calls that a command may not make, as a classic BPF program that the kernel runs before each call.
 *
 * The namespaces already make most of these harmless. The filter keeps commands away from parts of the kernel with a
 * history of holes, and enforces what no namespace does.
 *
 * S1. A call in another machine's convention (32-bit on x86_64, for example) ends the process: its numbers mean other calls.
 * S2. Calls newer than this list fail as unknown, as on an older kernel, which programs handle. So do the x32 numbers, which
 *     are larger than any.
 * S3. A refused call fails with an error, which programs that can do without it survive.
 * S4. Decisions depend only on arguments in registers. Data behind a pointer may change after the check, so calls that need
 *     it (clone3, openat2) fail as unknown; libraries then use the older ones.
 */
import { SYSCALL_NUMBERS, type SyscallName } from "./syscall-numbers.ts";

export type Architecture = "x64" | "arm64";

type Instruction = readonly [operation: number, whenTrue: number, whenFalse: number, operand: number];

const LOAD = 0x20;
const MASK = 0x54;
const IF_EQUAL = 0x15;
const IF_GREATER = 0x25;
const IF_ANY_BIT = 0x45;
const RETURN = 0x06;

// Offsets in `struct seccomp_data`.
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const NOT_PERMITTED = failWith(1);
const NOT_IMPLEMENTED = failWith(38);
const NO_SUCH_FAMILY = failWith(97);

/** `set_mempolicy_home_node`, of Linux 6.0. */
const NEWEST_NUMBER = 450;

const MACHINES = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
} as const;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACE = 0x7e020000;
const UNIX_FAMILY = 1;
/**
 * The only type whose pairs stay connected to each other, whatever address a message behind a pointer names (S4).
 * Datagram sockets, which raw ones are too, send to any.
 */
const STREAM_TYPE = 1;
/** The rest are flags. */
const TYPE_BITS = 0xf;
/** TIOCSTI types into a terminal, TIOCLINUX pastes into one, TIOCSETD changes its line discipline. */
const TERMINAL_REQUESTS = [0x5412, 0x541c, 0x5423];
const SETUID_OR_SETGID = 0o6000;
/** O_CREAT and O_TMPFILE: only these make open use its mode. */
const CREATES = 0o100 | 0o20000000;

const ABSENT: readonly SyscallName[] = ["clone3", "openat2", "memfd_create"];

/** All other calls in the table are refused whatever their arguments. */
const CONDITIONAL: Partial<Readonly<Record<SyscallName, readonly Instruction[]>>> = {
  clone: refuseBits(0, NEW_NAMESPACE),
  socket: [[RETURN, 0, 0, NO_SUCH_FAMILY]],
  socketpair: [
    argument(0),
    [IF_EQUAL, 0, 3, UNIX_FAMILY],
    argument(1),
    [MASK, 0, 0, TYPE_BITS],
    [IF_EQUAL, 1, 0, STREAM_TYPE],
    [RETURN, 0, 0, NO_SUCH_FAMILY],
    [RETURN, 0, 0, ALLOW],
  ],
  // Without an address it is how a program writes to a pair.
  sendto: [
    argument(4),
    [IF_EQUAL, 0, 2, 0],
    upperHalf(4),
    [IF_EQUAL, 1, 0, 0],
    [RETURN, 0, 0, NOT_PERMITTED],
    [RETURN, 0, 0, ALLOW],
  ],
  ioctl: [
    argument(1),
    ...TERMINAL_REQUESTS.flatMap((request): Instruction[] => [
      [IF_EQUAL, 0, 1, request],
      [RETURN, 0, 0, NOT_PERMITTED],
    ]),
    [RETURN, 0, 0, ALLOW],
  ],
  chmod: refuseBits(1, SETUID_OR_SETGID),
  fchmod: refuseBits(1, SETUID_OR_SETGID),
  fchmodat: refuseBits(2, SETUID_OR_SETGID),
  creat: refuseBits(1, SETUID_OR_SETGID),
  mknod: refuseBits(1, SETUID_OR_SETGID),
  mknodat: refuseBits(2, SETUID_OR_SETGID),
  open: [...allowUnlessBits(1, CREATES), ...refuseBits(2, SETUID_OR_SETGID)],
  openat: [...allowUnlessBits(2, CREATES), ...refuseBits(3, SETUID_OR_SETGID)],
};

export function compileSeccompFilter(architecture: Architecture): Uint8Array {
  const { audit, column } = MACHINES[architecture];
  const rules = (Object.keys(SYSCALL_NUMBERS) as SyscallName[]).flatMap((name) => {
    const number = SYSCALL_NUMBERS[name][column];
    return number === null ? [] : rule(number, answerTo(name));
  });
  return assemble([
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [IF_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER_AT],
    [IF_GREATER, 0, 1, NEWEST_NUMBER],
    [RETURN, 0, 0, NOT_IMPLEMENTED],
    ...rules,
    [RETURN, 0, 0, ALLOW],
  ]);
}

function answerTo(name: SyscallName): readonly Instruction[] {
  return CONDITIONAL[name] ?? [[RETURN, 0, 0, ABSENT.includes(name) ? NOT_IMPLEMENTED : NOT_PERMITTED]];
}

/** Every answer returns, so it may overwrite the loaded call number. */
function rule(number: number, answer: readonly Instruction[]): readonly Instruction[] {
  return [[IF_EQUAL, 0, answer.length, number], ...answer];
}

/** The low half: the kernel uses no more of most arguments. */
function argument(index: number): Instruction {
  return [LOAD, 0, 0, 16 + 8 * index];
}

function upperHalf(index: number): Instruction {
  return [LOAD, 0, 0, 20 + 8 * index];
}

function refuseBits(index: number, bits: number): readonly Instruction[] {
  return [argument(index), [IF_ANY_BIT, 0, 1, bits], [RETURN, 0, 0, NOT_PERMITTED], [RETURN, 0, 0, ALLOW]];
}

function allowUnlessBits(index: number, bits: number): readonly Instruction[] {
  return [argument(index), [IF_ANY_BIT, 1, 0, bits], [RETURN, 0, 0, ALLOW]];
}

function failWith(errno: number): number {
  return 0x00050000 | errno;
}

/** `struct sock_filter`: u16 code, u8 jt, u8 jf, u32 k. Both machines are little-endian. */
function assemble(instructions: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(instructions.length * 8);
  const view = new DataView(bytes.buffer);
  for (const [index, [operation, whenTrue, whenFalse, operand]] of instructions.entries()) {
    view.setUint16(index * 8, operation, true);
    view.setUint8(index * 8 + 2, whenTrue);
    view.setUint8(index * 8 + 3, whenFalse);
    view.setUint32(index * 8 + 4, operand, true);
  }
  return bytes;
}
