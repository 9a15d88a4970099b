/** The compiled filter, asked as the kernel asks it: by a machine of a few instructions. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Architecture, compileSeccompFilter } from "../../../src/adapters/sandbox-bwrap/seccomp-filter.ts";

interface Call {
  readonly audit: number;
  readonly number: number;
  readonly args: readonly number[];
}

const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const I386 = 0x40000003;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const EAFNOSUPPORT = 0x00050061;

function verdict(program: Uint8Array, { audit, number, args }: Call): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, audit, true);
  for (const [index, value] of args.entries()) data.setBigUint64(16 + 8 * index, BigInt(value), true);
  const view = new DataView(program.buffer);
  let accumulator = 0;
  for (let at = 0; ; at++) {
    const code = view.getUint16(at * 8, true);
    const operand = view.getUint32(at * 8 + 4, true);
    const jump = (isTrue: boolean): number => view.getUint8(at * 8 + (isTrue ? 2 : 3));
    if (code === 0x06) return operand;
    if (code === 0x20) accumulator = data.getUint32(operand, true);
    else if (code === 0x15) at += jump(accumulator === operand);
    else if (code === 0x25) at += jump(accumulator > operand);
    else if (code === 0x54) accumulator &= operand;
    else if (code === 0x45) at += jump((accumulator & operand) !== 0);
    else throw new Error(`an instruction no filter may have: ${code}`);
  }
}

function ask(architecture: Architecture, number: number, ...args: readonly number[]): number {
  return verdict(compileSeccompFilter(architecture), { audit: AUDIT[architecture], number, args });
}

describe.each([
  [
    "x64",
    {
      read: 0,
      execve: 59,
      clone: 56,
      unshare: 272,
      mount: 165,
      ptrace: 101,
      bpf: 321,
      socket: 41,
      pair: 53,
      sendto: 44,
      sendmsg: 46,
      addressed: [42, 49, 50, 43, 288],
      systemV: [68, 69, 70, 71, 64, 65, 66, 220, 29, 30, 31, 67],
      queues: [240, 241, 242, 243, 244, 245],
      ioctl: 16,
      openat: 257,
      fchmod: 91,
    },
  ],
  [
    "arm64",
    {
      read: 63,
      execve: 221,
      clone: 220,
      unshare: 97,
      mount: 40,
      ptrace: 117,
      bpf: 280,
      socket: 198,
      pair: 199,
      sendto: 206,
      sendmsg: 211,
      addressed: [203, 200, 201, 202, 242],
      systemV: [186, 189, 188, 187, 190, 193, 191, 192, 194, 196, 195, 197],
      queues: [180, 181, 182, 183, 184, 185],
      ioctl: 29,
      openat: 56,
      fchmod: 52,
    },
  ],
] as const)("on %s", (architecture, calls) => {
  test("ordinary calls pass", () => {
    for (const number of [calls.read, calls.execve]) expect(ask(architecture, number)).toBe(ALLOW);
  });

  test("processes and threads may be started, namespaces may not", () => {
    expect(ask(architecture, calls.clone, 0x01200011)).toBe(ALLOW);
    expect(ask(architecture, calls.clone, 0x003d0f00)).toBe(ALLOW);
    for (const flag of [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(ask(architecture, calls.clone, flag | 17)).toBe(EPERM);
    }
    expect(ask(architecture, calls.unshare, 0x10000000)).toBe(EPERM);
    expect(ask(architecture, 435)).toBe(ENOSYS);
  });

  test("kernel interfaces are refused", () => {
    for (const number of [calls.mount, calls.ptrace, calls.bpf, 425, 426, 427, 442]) {
      expect(ask(architecture, number)).toBe(EPERM);
    }
  });

  test("there are no sockets but connected streams of one's own", () => {
    const STREAM = 1;
    const FLAGS = 0o2004000;
    for (const family of [1, 2, 10, 16, 17, 40]) expect(ask(architecture, calls.socket, family)).toBe(EAFNOSUPPORT);
    for (const type of [STREAM, STREAM | FLAGS]) expect(ask(architecture, calls.pair, 1, type)).toBe(ALLOW);
    expect(ask(architecture, calls.pair, 2, STREAM)).toBe(EAFNOSUPPORT);
    // A datagram socket can be connected again, and sends to any address.
    for (const type of [0, 2, 3, 4, 5, 10, 2 | FLAGS, 3 | FLAGS]) {
      expect(ask(architecture, calls.pair, 1, type), `${type}`).toBe(EAFNOSUPPORT);
    }
  });

  test("no socket gets an address, and nothing is sent to one", () => {
    for (const number of calls.addressed) expect(ask(architecture, number, 3), `${number}`).toBe(EPERM);
    expect(ask(architecture, calls.sendto, 3, 0x1000, 1, 0, 0, 0)).toBe(ALLOW);
    for (const address of [1, 0x7fff_0000_1000, 0x1_0000_0000]) {
      expect(ask(architecture, calls.sendto, 3, 0x1000, 1, 0, address, 16)).toBe(EPERM);
    }
    expect(ask(architecture, calls.sendmsg, 3)).toBe(ALLOW);
  });

  test("there are no System V objects and no message queues: no limit counts them", () => {
    for (const number of [...calls.systemV, ...calls.queues])
      expect(ask(architecture, number), `${number}`).toBe(EPERM);
  });

  test("nothing is typed into a terminal, whatever the upper half of the request says", () => {
    for (const request of [0x5412, 0x541c, 0x5423, 0x1_0000_5412]) {
      expect(ask(architecture, calls.ioctl, 0, request)).toBe(EPERM);
    }
    expect(ask(architecture, calls.ioctl, 0, 0x5401)).toBe(ALLOW);
  });

  test("no file becomes one that runs as its owner", () => {
    for (const bits of [0o4000, 0o2000]) {
      expect(ask(architecture, calls.fchmod, 3, 0o755 | bits)).toBe(EPERM);
      expect(ask(architecture, calls.openat, 3, 0, 0o101, 0o755 | bits)).toBe(EPERM);
      expect(ask(architecture, calls.openat, 3, 0, 0o20200002, 0o755 | bits)).toBe(EPERM);
      // Without O_CREAT there is no mode, and the register holds anything.
      expect(ask(architecture, calls.openat, 3, 0, 0, 0o755 | bits)).toBe(ALLOW);
    }
    expect(ask(architecture, calls.fchmod, 3, 0o1777)).toBe(ALLOW);
    expect(ask(architecture, calls.openat, 3, 0, 0o101, 0o644)).toBe(ALLOW);
    expect(ask(architecture, 437)).toBe(ENOSYS);
  });

  test("calls of another machine end the process; calls nobody knew do not exist", () => {
    const program = compileSeccompFilter(architecture);
    const others = [I386, AUDIT[architecture === "x64" ? "arm64" : "x64"], 0];
    for (const audit of others) expect(verdict(program, { audit, number: 0, args: [] })).toBe(KILL_PROCESS);
    for (const number of [451, 500, 0x40000000, 0x40000029, 0xffffffff]) expect(ask(architecture, number)).toBe(ENOSYS);
  });

  test("every call has an answer", () => {
    const program = compileSeccompFilter(architecture);
    fc.assert(
      fc.property(fc.nat(600), fc.array(fc.nat(0xffffffff), { maxLength: 6 }), (number, args) => {
        const answer = verdict(program, { audit: AUDIT[architecture], number, args });
        expect([ALLOW, EPERM, ENOSYS, EAFNOSUPPORT]).toContain(answer);
      }),
    );
  });
});
