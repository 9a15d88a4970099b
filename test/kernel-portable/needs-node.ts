/** Must not load without Node: without-node.test.ts sees the guard refuse it. */
import "node:fs";
