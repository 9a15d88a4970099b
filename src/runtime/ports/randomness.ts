/** Where ids and salts come from. */
export type RandomBytes = (count: number) => Uint8Array;

/** 96 bits: unguessable enough for a name, short enough to read aloud. Tokens and keys take more. */
export function newId(prefix: string, random: RandomBytes): string {
  return `${prefix}_${Buffer.from(random(12)).toString("hex")}`;
}
