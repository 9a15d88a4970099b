import type { ReactNode } from "react";
import type { Acting } from "../data/acting.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorNote } from "./error-note.tsx";

interface ConfirmProps {
  /** The question. */
  readonly title: string;
  /** What the button does, in its words. */
  readonly verb: string;
  readonly acting: Acting;
  /** It closes when this has succeeded. */
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  /** What follows from it, and what does not. */
  readonly children: ReactNode;
}

/** Asks before something that cannot be taken back. */
export function Confirm({ title, verb, acting, onConfirm, onClose, children }: ConfirmProps) {
  const confirm = async (): Promise<void> => {
    if (await acting.run(verb, onConfirm)) onClose();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" blocked={acting.blocked} onClick={confirm}>
            {acting.busy === verb ? "Sending…" : verb}
          </Button>
        </>
      }
    >
      {children}
      {acting.error !== null && <ErrorNote error={acting.error} />}
    </Dialog>
  );
}
