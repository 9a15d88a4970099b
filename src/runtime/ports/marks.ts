/** Marks on workspace paths that an untrusted context wrote; an operator can list and remove them. */
export interface Marks {
  /** Paths relative to the workspace; `.` is all of it. */
  list(): Promise<readonly string[]>;
  /** `path` as listed; false where there is no mark. From then on the content counts as the user's own. */
  remove(path: string): Promise<boolean>;
}
