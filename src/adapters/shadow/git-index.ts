/** Git's index: what is staged, and which paths are in conflict. Versions 2 to 4. */

export interface IndexEntry {
  readonly path: string;
  readonly id: string;
  readonly bytes: number;
}

export interface GitIndex {
  readonly staged: readonly IndexEntry[];
  readonly conflicts: readonly string[];
}

const HEADER_BYTES = 12;
/** Times, device, inode, mode and owner, before the size. */
const STAT_BYTES = 36;
const EXTENDED = 0x4000;
const STAGE = 0x3000;
const MAX_ENTRIES = 100_000;

/** Null: no index that is known here. `idBytes`: 20, or 32 in a repository with SHA-256. */
export function readIndex(bytes: Buffer, idBytes: number): GitIndex | null {
  if (bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, 4) !== "DIRC") return null;
  const version = bytes.readUInt32BE(4);
  const count = bytes.readUInt32BE(8);
  if (version < 2 || version > 4 || count > MAX_ENTRIES) return null;
  const staged: IndexEntry[] = [];
  const conflicts = new Set<string>();
  let at = HEADER_BYTES;
  let path = "";
  try {
    for (let each = 0; each < count; each += 1) {
      const start = at;
      const size = bytes.readUInt32BE(start + STAT_BYTES);
      const idAt = start + STAT_BYTES + 4;
      const id = bytes.toString("hex", idAt, idAt + idBytes);
      const flags = bytes.readUInt16BE(idAt + idBytes);
      at = idAt + idBytes + 2 + (version > 2 && (flags & EXTENDED) !== 0 ? 2 : 0);
      let kept = 0;
      if (version === 4) {
        // How many bytes of the path before go away: seven bits a byte, the highest says that more follow.
        let byte = bytes.readUInt8(at++);
        let cut = byte & 0x7f;
        while ((byte & 0x80) !== 0) {
          byte = bytes.readUInt8(at++);
          cut = ((cut + 1) << 7) | (byte & 0x7f);
        }
        kept = Math.max(0, Buffer.byteLength(path) - cut);
      }
      const end = bytes.indexOf(0, at);
      if (end < 0) return null;
      const shared = Buffer.from(path).subarray(0, kept).toString();
      path = `${shared}${bytes.toString("utf8", at, end)}`;
      at = version === 4 ? end + 1 : start + Math.ceil((end - start + 1) / 8) * 8;
      if ((flags & STAGE) === 0) staged.push({ path, id, bytes: size });
      else conflicts.add(path);
    }
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  return { staged, conflicts: [...conflicts] };
}
