import { useId, useMemo, useState } from "react";
import styles from "./command-palette.module.css";
import { useModal } from "./dialog.tsx";

export interface Command {
  readonly name: string;
  /** A key, or where it leads. */
  readonly hint?: string;
  run(): void;
}

/** Ctrl K: finds a command by the words in its name. */
export function CommandPalette({ commands, onClose }: { commands: readonly Command[]; onClose: () => void }) {
  const ref = useModal();
  const listId = useId();
  const [wanted, setWanted] = useState("");
  const [at, setAt] = useState(0);
  const found = useMemo(() => commands.filter(({ name }) => matches(name, wanted)), [commands, wanted]);
  const chosen = Math.min(at, found.length - 1);

  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: React.KeyboardEvent): void => {
    event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      const next = (chosen + step + found.length) % found.length;
      setAt(next);
      document.getElementById(`${listId}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(found[chosen]);
    }
  };
  return (
    <dialog
      ref={ref}
      className={styles["palette"]}
      aria-label="Commands"
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}
      onKeyDown={onKeyDown}
    >
      <input
        className={styles["input"]}
        placeholder="Find a page or a command"
        aria-label="Find a page or a command"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={found.length === 0 ? undefined : `${listId}-${chosen}`}
        value={wanted}
        onChange={(event) => {
          setWanted(event.target.value);
          setAt(0);
        }}
      />
      {found.length === 0 && <p className={styles["none"]}>Nothing is called that.</p>}
      <div id={listId} className={styles["list"]} role="listbox" aria-label="Commands">
        {found.map((command, index) => (
          <div
            key={command.name}
            id={`${listId}-${index}`}
            className={styles["option"]}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => run(command)}
            onKeyDown={onKeyDown}
            onPointerMove={() => setAt(index)}
          >
            {command.name}
            {command.hint !== undefined && <kbd className={styles["hint"]}>{command.hint}</kbd>}
          </div>
        ))}
      </div>
    </dialog>
  );
}

/** Each word that is looked for begins a word of the name. */
function matches(name: string, wanted: string): boolean {
  const words = name.toLowerCase().split(/\s+/);
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((part) => words.some((word) => word.startsWith(part)));
}
