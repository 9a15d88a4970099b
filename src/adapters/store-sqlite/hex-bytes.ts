/** Hashes and salts are hex inside, and half as long in the database. */
export function toBytes(hex: string): Buffer {
  return Buffer.from(hex, "hex");
}

export function toHex<T extends string>(bytes: Uint8Array): T {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex") as T;
}
