import { CircleAlert } from "lucide-react";
import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from "react";
import { useId } from "react";
import { classes } from "./classes.ts";
import styles from "./field.module.css";

/** What a control needs to belong to its label, hint and error. */
export interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

interface FieldProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  /** What is wrong with the value. */
  readonly error?: string | null;
  readonly children: (control: ControlProps) => ReactNode;
}

/** A control with its label, what it means, and what is wrong with it. */
export function Field({ label, hint, error = null, children }: FieldProps) {
  const id = useId();
  const described = [hint !== undefined && `${id}-hint`, error !== null && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={styles["field"]}>
      <label className={styles["label"]} htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        "aria-describedby": described === "" ? undefined : described,
        "aria-invalid": error === null ? undefined : true,
      })}
      {error !== null && (
        <span id={`${id}-error`} className={styles["error"]}>
          <CircleAlert size={13} aria-hidden="true" />
          {error}
        </span>
      )}
      {hint !== undefined && (
        <span id={`${id}-hint`} className={styles["hint"]}>
          {hint}
        </span>
      )}
    </div>
  );
}

/** `isFact`: an id, a path, a pattern. */
export function Input({ isFact = false, ...rest }: InputHTMLAttributes<HTMLInputElement> & { isFact?: boolean }) {
  return (
    <input
      autoComplete="off"
      spellCheck={false}
      {...rest}
      className={classes(styles["input"], isFact && styles["mono"])}
    />
  );
}

export function TextArea(props: TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return <textarea spellCheck={false} {...props} className={classes(styles["input"], styles["mono"])} />;
}

interface SelectProps<Value extends string>
  extends Omit<SelectHTMLAttributes<HTMLSelectElement>, "onChange" | "value"> {
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, words: string])[];
  readonly onChange: (value: Value) => void;
}

export function Select<Value extends string>({ value, options, onChange, ...rest }: SelectProps<Value>) {
  return (
    <select
      {...rest}
      className={styles["input"]}
      value={value}
      onChange={(event) => onChange(event.target.value as Value)}
    >
      {options.map(([each, words]) => (
        <option key={each} value={each}>
          {words}
        </option>
      ))}
    </select>
  );
}

interface CheckBoxProps {
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  readonly children: ReactNode;
}

export function CheckBox({ isOn, onChange, children }: CheckBoxProps) {
  return (
    <label className={styles["check"]}>
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} />
      <span>{children}</span>
    </label>
  );
}

/** Fields and a button side by side, while there is room. */
export function FieldRow({ children }: { children: ReactNode }) {
  return <div className={styles["row"]}>{children}</div>;
}
