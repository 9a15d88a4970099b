/** SHA-256 by Node's own implementation. `sha256-portable.ts` is its twin for browsers; one suite proves both. */
import { hash } from "node:crypto";

export function sha256Hex(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}
