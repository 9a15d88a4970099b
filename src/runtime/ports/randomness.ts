/** The source of ids and salts. */
export type RandomBytes = (count: number) => Uint8Array;

/** 96 bits are enough for an id; tokens and keys take more. */
export function newId(prefix: string, random: RandomBytes): string {
  return `${prefix}_${Buffer.from(random(12)).toString("hex")}`;
}
