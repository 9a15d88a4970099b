/** Which state an entry of each kind stands for: the first is named for what it tells, all others for where they are. */
export const STATE_OF = {
  "run.created": "PRECHECK",
  INFER: "INFER",
  VALIDATE_CALLS: "VALIDATE_CALLS",
  EXECUTE: "EXECUTE",
  OBSERVE: "OBSERVE",
  COMMIT: "COMMIT",
  TERMINATE: "TERMINATE",
} as const;
