import { HostileText } from "./hostile-text.tsx";
import styles from "./json-tree.module.css";

/** More than these at one level are folded. */
const OPEN_CHILDREN = 40;
const OPEN_DEPTH = 3;

/** JSON as a tree that can be folded; every text is shown with its hidden characters. */
export function JsonTree({ value }: { value: unknown }) {
  return (
    <div className={styles["tree"]}>
      <Node value={value} depth={0} />
    </div>
  );
}

function Node({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const label = name !== undefined && (
    <span className={styles["name"]}>
      <HostileText text={name} isDeciding />:{" "}
    </span>
  );
  if (typeof value !== "object" || value === null) {
    return (
      <span>
        {label}
        <Leaf value={value} />
      </span>
    );
  }
  const children = Object.entries(value);
  const brackets = Array.isArray(value) ? "[]" : "{}";
  if (children.length === 0) {
    return (
      <span>
        {label}
        {brackets}
      </span>
    );
  }
  const list = (
    <ul>
      {children.map(([key, child]) => (
        <li key={key}>
          <Node name={key} value={child} depth={depth + 1} />
        </li>
      ))}
    </ul>
  );
  if (name === undefined) return list;
  return (
    <details open={depth < OPEN_DEPTH && children.length <= OPEN_CHILDREN}>
      <summary>
        {label}
        <span className={styles["name"]}>
          {brackets.charAt(0)}
          {children.length}
          {brackets.charAt(1)}
        </span>
      </summary>
      {list}
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value !== "string") return String(value);
  return (
    <span className={styles["text"]}>
      <HostileText text={value} isDeciding />
    </span>
  );
}
