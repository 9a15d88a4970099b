/** A login link: what a browser is opened with to be signed in. */
import type { OperationClient } from "../assistant/operations.ts";
import { valueIn } from "./connect-assistant.ts";

export async function loginLink(operations: OperationClient, gatewayUrl: string) {
  const { path, expires_at } = valueIn(await operations.call("login.link", {}), () => "");
  return { url: new URL(path, gatewayUrl).href, expires_at };
}
