import { useSignal } from "../data/signal.ts";
import { Dialog } from "../parts/dialog.tsx";
import { bindings, singleKeys } from "./keyboard.ts";
import styles from "./shell.module.css";

/** What the keys do here and now. */
export function KeySheet({ onClose }: { onClose: () => void }) {
  const isOn = useSignal(singleKeys);
  const shown = new Map(useSignal(bindings).map(({ keys, does }) => [keys, does]));
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className={styles["sheet"]}>
        {[...shown].sort().map(([keys, does]) => [
          <dt key={keys}>
            <kbd>{keys.replace(/^Ctrl [a-z]$/, (chord) => `Ctrl ${chord.slice(-1).toUpperCase()}`)}</kbd>
          </dt>,
          <dd key={`${keys}-does`}>{does}</dd>,
        ])}
      </dl>
      <label className={styles["switch"]}>
        <input type="checkbox" checked={isOn} onChange={(event) => singleKeys.set(event.target.checked)} />
        Single keys work while nothing is being written
      </label>
    </Dialog>
  );
}
