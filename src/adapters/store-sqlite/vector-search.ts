/**
 * The functions of sqlite-vec, loaded into a connection that may load extensions, when vectors are first compared. The package
 * is optional: without it there is no search by vectors.
 */
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../runtime/ports/store.ts";

function missing(cause: unknown): StoreError {
  const message = "Memories are searched by words only: the package sqlite-vec is missing. Run npm install sqlite-vec.";
  return new StoreError("store.unavailable", message, { cause });
}

export async function loadVectorSearch(db: DatabaseSync): Promise<void> {
  try {
    const { getLoadablePath } = await import("sqlite-vec");
    db.enableLoadExtension(true);
    db.loadExtension(getLoadablePath());
  } catch (error) {
    throw missing(error);
  } finally {
    db.enableLoadExtension(false);
  }
}
