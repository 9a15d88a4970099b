import { Eraser } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useActing } from "../data/acting.ts";
import { announce } from "./announcer.tsx";
import { Button } from "./button.tsx";
import { Confirm } from "./confirm.tsx";

interface ForgetProps {
  /** The question. */
  readonly title: string;
  /** Why it cannot be forgotten now; null: it can. */
  readonly blocked: string | null;
  readonly forget: () => Promise<{ readonly is_complete: boolean; readonly not_reached: readonly string[] }>;
  /** What goes. */
  readonly children: ReactNode;
}

/** Removes content for good, after a question. */
export function Forget({ title, blocked, forget, children }: ForgetProps) {
  const [isAsking, setAsking] = useState(false);
  const acting = useActing();
  return (
    <>
      <Button blocked={blocked ?? acting.blocked} onClick={() => setAsking(true)}>
        <Eraser size={16} aria-hidden="true" />
        Forget…
      </Button>
      {isAsking && (
        <Confirm
          title={title}
          verb="Forget"
          acting={acting}
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            const { is_complete, not_reached } = await forget();
            const rest = is_complete ? "" : " A file was in use: the rest follows when the gateway starts again.";
            announce(`Forgotten. Copies may be left in ${not_reached.join(", ")}.${rest}`);
          }}
        >
          <p>{children}</p>
          <p>Chains stay valid. Backups keep their copies, and so do exported files and files that tools wrote.</p>
        </Confirm>
      )}
    </>
  );
}
