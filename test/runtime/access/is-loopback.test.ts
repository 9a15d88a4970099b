import { expect, test } from "vitest";
import { isLoopback } from "../../../src/runtime/access/is-loopback.ts";

test.each(["127.0.0.1", "127.8.9.10", "localhost", "LocalHost", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"])(
  "%s keeps to this machine",
  (host) => expect(isLoopback(host)).toBe(true),
);

test.each(["0.0.0.0", "::", "192.168.1.2", "128.0.0.1", "fe80::1", "localhost.example", "my-machine", ""])(
  "%j does not, or nobody knows",
  (host) => expect(isLoopback(host)).toBe(false),
);
