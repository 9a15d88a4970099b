/** Files that go with the next message: pasted, dropped or chosen. Each is uploaded at once and named when it is sent. */
import { FileText, X } from "lucide-react";
import { useRef, useState } from "react";
import { asCallError, type CallError, upload } from "../../data/client.ts";
import { Button } from "../../parts/button.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import styles from "./chat.module.css";

const MAX_FILES = 8;

interface Attached {
  readonly key: number;
  readonly name: string;
  /** Null: on its way. */
  readonly ref: string | null;
  readonly type: string;
}

export interface Attachments {
  readonly files: readonly Attached[];
  readonly error: CallError | null;
  /** Why a message cannot go yet. */
  readonly blocked: string | null;
  readonly refs: readonly string[];
  add(files: Iterable<File>): void;
  remove(key: number): void;
  clear(): void;
}

/** `place`: a conversation has its own. */
export function useAttachments(place: string): Attachments {
  const [all, setAll] = useState<readonly (Attached & { readonly place: string })[]>([]);
  const [error, setError] = useState<CallError | null>(null);
  const lastKey = useRef(0);
  const files = all.filter((each) => each.place === place);

  const addOne = async (file: File): Promise<void> => {
    lastKey.current += 1;
    const key = lastKey.current;
    const name = file.name === "" ? "pasted" : file.name;
    setAll((before) => [...before, { key, name, ref: null, type: file.type, place }]);
    try {
      const query = new URLSearchParams({ name });
      const { ref, type } = (await upload(`/api/media?${query}`, file)) as { ref: string; type: string };
      setAll((before) => before.map((each) => (each.key === key ? { ...each, ref, type } : each)));
    } catch (failure) {
      setError(asCallError(failure));
      setAll((before) => before.filter((each) => each.key !== key));
    }
  };
  return {
    files,
    error,
    blocked: files.some(({ ref }) => ref === null) ? "A file is still on its way." : null,
    refs: files.flatMap(({ ref }) => ref ?? []),
    add(given) {
      setError(null);
      for (const file of [...given].slice(0, MAX_FILES - files.length)) addOne(file);
    },
    remove: (key) => setAll((before) => before.filter((each) => each.key !== key)),
    clear: () => setAll((before) => before.filter((each) => each.place !== place)),
  };
}

interface AttachmentListProps {
  readonly attachments: Attachments;
  readonly carried: number;
  readonly onDropCarried: () => void;
}

export function AttachmentList({ attachments, carried, onDropCarried }: AttachmentListProps) {
  const { files, error, remove } = attachments;
  return (
    <>
      {error !== null && <ErrorNote error={error} />}
      {files.length + carried > 0 && (
        <ul className={styles["files"]} aria-label="Files to send">
          {carried > 0 && (
            <li>
              <FileText size={16} aria-hidden="true" />
              <span className={styles["title"]}>
                {carried === 1 ? "The image" : `The ${carried} images`} of that message
              </span>
              <Button tone="quiet" square aria-label="Leave the images out" onClick={onDropCarried}>
                <X size={14} aria-hidden="true" />
              </Button>
            </li>
          )}
          {files.map(({ key, name, ref, type }) => (
            <li key={key}>
              {ref !== null && type.startsWith("image/") ? (
                <img src={`/api/media/${encodeURIComponent(ref)}`} alt="" />
              ) : (
                <FileText size={16} aria-hidden="true" />
              )}
              <span className={styles["title"]}>
                <HostileText text={name} />
              </span>
              {ref === null && <span className={styles["minor"]}>sending…</span>}
              <Button tone="quiet" square aria-label="Remove this file" onClick={() => remove(key)}>
                <X size={14} aria-hidden="true" />
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
