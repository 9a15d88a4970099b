/** What is known of one command from its words alone. What must never run is thrown as `commandRefused` instead. */
export interface Classification {
  /** Its arguments as they will be given, with those that we add. */
  readonly args: readonly string[];
  /** Why a person has to be asked; empty where it only reads. */
  readonly asks: readonly string[];
  /** The paths it names, as they are written. */
  readonly paths: readonly string[];
}
