import { SendHorizontal, Square } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useState } from "react";
import { useBlocked } from "../../data/acting.ts";
import { asCallError, type CallError } from "../../data/client.ts";
import { draftOf } from "../../data/kept.ts";
import { useSignal } from "../../data/signal.ts";
import { Button } from "../../parts/button.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import styles from "./chat.module.css";

interface ComposerProps {
  /** Where the draft belongs: a session, or `new`. */
  readonly place: string;
  readonly onSend: (text: string) => Promise<void>;
  /** Null: nothing is at work. */
  readonly onStop: (() => Promise<void>) | null;
}

export function Composer({ place, onSend, onStop }: ComposerProps) {
  const draft = draftOf(place);
  const text = useSignal(draft);
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<CallError | null>(null);
  const offline = useBlocked();
  const blocked = offline ?? (isSending ? "Sending…" : text.trim() === "" ? "There is nothing to send yet." : null);

  const send = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault();
    if (blocked !== null) return;
    setSending(true);
    setError(null);
    try {
      await onSend(text);
      draft.set("");
    } catch (failure) {
      setError(asCallError(failure));
    } finally {
      setSending(false);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className={styles["composer"]} onSubmit={send}>
      {error !== null && <ErrorNote error={error} />}
      <div className={styles["line"]}>
        <textarea
          className={styles["input"]}
          rows={1}
          aria-label="Message"
          placeholder="Ask, or type / for commands"
          value={text}
          onChange={(event) => draft.set(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <Button tone="primary" submits square aria-label={isSending ? "Sending…" : "Send"} blocked={blocked}>
          <SendHorizontal size={18} aria-hidden="true" />
        </Button>
        {onStop !== null && (
          <Button
            square
            aria-label="Stop"
            blocked={offline}
            onClick={() => onStop().catch((e) => setError(asCallError(e)))}
          >
            <Square size={16} aria-hidden="true" />
          </Button>
        )}
      </div>
    </form>
  );
}
