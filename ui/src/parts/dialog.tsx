import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { Button } from "./button.tsx";
import styles from "./dialog.module.css";

interface DialogProps {
  readonly title: string;
  /** Escape, the cross, and a click beside it: closes and decides nothing. */
  readonly onClose: () => void;
  /** Buttons, which stay in sight. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A native modal dialog: shown for as long as it is rendered. Focus goes back where it was. */
export function Dialog({ title, onClose, actions, children }: DialogProps) {
  const ref = useModal();
  const titleId = useId();
  return (
    <dialog
      ref={ref}
      className={styles["dialog"]}
      aria-labelledby={titleId}
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <header className={styles["head"]}>
        <h2 id={titleId}>{title}</h2>
        <Button tone="quiet" square aria-label="Close" onClick={() => ref.current?.close()}>
          <X size={16} aria-hidden="true" />
        </Button>
      </header>
      <div className={styles["body"]}>{children}</div>
      {actions !== undefined && <footer className={styles["foot"]}>{actions}</footer>}
    </dialog>
  );
}

/** Opens a dialog element as a modal while it is mounted. */
export function useModal() {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return ref;
}
