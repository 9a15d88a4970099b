import type { ReactNode } from "react";
import { classes } from "./classes.ts";
import styles from "./table.module.css";

export interface Column<Row> {
  /** Empty: of the buttons. */
  readonly title: string;
  readonly draw: (row: Row) => ReactNode;
  /** `number`: to the right. `narrow`: no wider than what is in it. */
  readonly kind?: "number" | "narrow";
}

interface TableProps<Row> {
  /** Said to those who do not see it. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** On a phone, the values after the first stand side by side. */
  readonly isCompact?: boolean;
}

/** Rows with the same facts. On a phone each row is a block whose lines say what they are. */
export function Table<Row>({ label, columns, rows, keyOf, isCompact = false }: TableProps<Row>) {
  return (
    <table className={classes(styles["table"], isCompact && styles["compact"])} aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, kind }) => (
            <th key={title} scope="col" className={kind === undefined ? undefined : styles[kind]}>
              {title === "" ? <span className="out-of-sight">Actions</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, kind, draw }) => (
              <td
                key={title}
                className={kind === undefined ? undefined : styles[kind]}
                data-title={title === "" ? undefined : title}
              >
                {draw(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
