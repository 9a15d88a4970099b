import { CHAT_COMMANDS } from "virtual:operations";
import styles from "./chat.module.css";

export type ChatCommand = (typeof CHAT_COMMANDS)[number];

/** The commands that begin with what is written; none once something follows. */
export function commandsFor(text: string): readonly ChatCommand[] {
  if (!/^\/[a-z]*$/i.test(text)) return [];
  return CHAT_COMMANDS.filter(({ name }) => name.startsWith(text.toLowerCase()));
}

interface CommandMenuProps {
  readonly id: string;
  readonly commands: readonly ChatCommand[];
  readonly at: number;
  readonly onChoose: (command: ChatCommand) => void;
}

export function optionId(menuId: string, at: number): string {
  return `${menuId}-${at}`;
}

export function CommandMenu({ id, commands, at, onChoose }: CommandMenuProps) {
  return (
    <div id={id} className={styles["menu"]} role="listbox" aria-label="Commands of the chat">
      {commands.map((command, index) => (
        <div
          key={command.name}
          id={optionId(id, index)}
          className={styles["option"]}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          // The text keeps the focus.
          onPointerDown={(event) => {
            event.preventDefault();
            onChoose(command);
          }}
        >
          <code>{command.usage}</code>
          <span className={styles["minor"]}>{command.summary}</span>
        </div>
      ))}
    </div>
  );
}
