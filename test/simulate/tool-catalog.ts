/** The tools every simulated world has registered; how they behave is the world's choice. */
import { UNTRUSTED_LABELS, USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import type { SimulatedTool } from "./world.ts";

type CatalogTool = Omit<SimulatedTool, "temper" | "steady" | "timeoutMs">;

export const HOSTS = ["example.org", "example.net"] as const;

const plain = { pollable: false, hosts: [], labels: USER_LABELS, delegates: false } as const;

export const TOOL_CATALOG: readonly CatalogTool[] = [
  { ...plain, name: "fs.read_text", risk: "read_only", idempotency: "read_only" },
  { ...plain, name: "fs.list_dir", risk: "read_only", idempotency: "read_only" },
  { ...plain, name: "web.get", risk: "read_only", idempotency: "read_only", hosts: HOSTS, labels: UNTRUSTED_LABELS },
  { ...plain, name: "job.status", risk: "read_only", idempotency: "read_only", pollable: true },
  { ...plain, name: "notes.draft", risk: "draft_only", idempotency: "own_store" },
  { ...plain, name: "fs.write_text", risk: "side_effect", idempotency: "keyed" },
  { ...plain, name: "calendar.add", risk: "side_effect", idempotency: "keyed", hosts: HOSTS },
  { ...plain, name: "mail.send", risk: "side_effect", idempotency: "opaque", hosts: HOSTS },
  { ...plain, name: "shell.exec", risk: "side_effect", idempotency: "opaque" },
  { ...plain, name: "agent.delegate", risk: "read_only", idempotency: "own_store", delegates: true },
];

export const TOOL_NAMES: readonly string[] = TOOL_CATALOG.map((tool) => tool.name);
