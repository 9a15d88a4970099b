/**
 * Marks on places of the workspace that an untrusted context wrote, for the operator who looks at them and takes
 * one off.
 */
export interface Marks {
  /** Paths from the workspace down; `.` is the whole of it. */
  list(): Promise<readonly string[]>;
  /** As it is listed; false where there is none. From then on what is there counts as the user's own. */
  remove(path: string): Promise<boolean>;
}
