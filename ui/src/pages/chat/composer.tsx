import { Paperclip, SendHorizontal, Square } from "lucide-react";
import { type FormEvent, type KeyboardEvent, type Ref, useId, useRef, useState } from "react";
import { useBlocked } from "../../data/acting.ts";
import { asCallError, type CallError } from "../../data/client.ts";
import { draftOf } from "../../data/kept.ts";
import { useSignal } from "../../data/signal.ts";
import { Button } from "../../parts/button.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { useKeys } from "../../shell/keyboard.ts";
import { AttachmentList, useAttachments } from "./attachments.tsx";
import styles from "./chat.module.css";
import { CommandMenu, commandsFor, optionId } from "./command-menu.tsx";

interface ComposerProps {
  /** Where the draft belongs: a session, or `new`. */
  readonly place: string;
  /** Images of the message that is edited, which go along. */
  readonly carried: number;
  readonly onDropCarried: () => void;
  readonly onSend: (text: string, media: readonly string[]) => Promise<void>;
  /** Null: nothing is at work. */
  readonly onStop: (() => Promise<void>) | null;
  readonly inputRef: Ref<HTMLTextAreaElement>;
}

export function Composer({ place, carried, onDropCarried, onSend, onStop, inputRef }: ComposerProps) {
  const draft = draftOf(place);
  const text = useSignal(draft);
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<CallError | null>(null);
  const offline = useBlocked();
  const attachments = useAttachments(place);
  const chooser = useRef<HTMLInputElement>(null);
  const missing = text.trim() === "" ? "There is nothing to send yet." : null;
  const blocked = offline ?? (isSending ? "Sending…" : (attachments.blocked ?? missing));
  const menu = useCommandMenu(text, (chosen) => draft.set(chosen));

  const send = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault();
    if (blocked !== null) return;
    setSending(true);
    setError(null);
    try {
      await onSend(text, attachments.refs);
      attachments.clear();
      // What was written meanwhile stays.
      if (draft.get() === text) draft.set("");
    } catch (failure) {
      setError(asCallError(failure));
    } finally {
      setSending(false);
    }
  };
  const stop = (): void => {
    if (onStop !== null && offline === null) onStop().catch((failure) => setError(asCallError(failure)));
  };
  useKeys([{ keys: "Ctrl .", does: "stop what is at work in this chat", run: stop }]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (menu.take(event)) return;
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      className={styles["composer"]}
      onSubmit={send}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        attachments.add(event.dataTransfer.files);
      }}
    >
      {error !== null && <ErrorNote error={error} />}
      <AttachmentList attachments={attachments} carried={carried} onDropCarried={onDropCarried} />
      <div className={styles["line"]}>
        {menu.isOpen && <CommandMenu id={menu.id} commands={menu.commands} at={menu.at} onChoose={menu.choose} />}
        <textarea
          ref={inputRef}
          className={styles["input"]}
          rows={1}
          aria-label="Message"
          aria-autocomplete="list"
          aria-controls={menu.isOpen ? menu.id : undefined}
          aria-activedescendant={menu.isOpen ? optionId(menu.id, menu.at) : undefined}
          placeholder="Ask, or type / for commands"
          value={text}
          onChange={(event) => draft.set(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            if (event.clipboardData.files.length === 0) return;
            event.preventDefault();
            attachments.add(event.clipboardData.files);
          }}
        />
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          tabIndex={-1}
          aria-label="Files"
          onChange={({ currentTarget }) => {
            attachments.add(currentTarget.files ?? []);
            currentTarget.value = "";
          }}
        />
        <Button
          square
          aria-label="Attach files"
          title="Attach files"
          blocked={offline}
          onClick={() => chooser.current?.click()}
        >
          <Paperclip size={18} aria-hidden="true" />
        </Button>
        <Button tone="primary" submits square aria-label={isSending ? "Sending…" : "Send"} blocked={blocked}>
          <SendHorizontal size={18} aria-hidden="true" />
        </Button>
        {onStop !== null && (
          <Button square aria-label="Stop" title="Stop (Ctrl .)" blocked={offline} onClick={stop}>
            <Square size={16} aria-hidden="true" />
          </Button>
        )}
      </div>
    </form>
  );
}

/** Opens while a command's name is being written; Escape closes it for this word. */
function useCommandMenu(text: string, set: (text: string) => void) {
  const id = useId();
  const [at, setAt] = useState(0);
  const [closedFor, setClosedFor] = useState<string | null>(null);
  const commands = commandsFor(text);
  const isOpen = commands.length > 0 && closedFor !== text && commands[0]?.name !== text;
  const chosen = Math.min(at, commands.length - 1);
  const choose = ({ name, usage }: (typeof commands)[number]): void => {
    setAt(0);
    set(usage === name ? name : `${name} `);
  };
  /** True if the key was for the menu. */
  const take = (event: KeyboardEvent): boolean => {
    const command = commands[chosen];
    if (!isOpen || command === undefined || event.nativeEvent.isComposing) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((chosen + step + commands.length) % commands.length);
    else if (event.key === "Escape") setClosedFor(text);
    else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) choose(command);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  return { id, isOpen, commands, at: chosen, choose, take };
}
