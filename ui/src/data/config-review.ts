/**
 * Changing the configuration: a change is checked, its difference is looked at, and then it is saved for the very version
 * that was checked. If that version is gone by then nothing is saved, and the check can be done again.
 */
import { useState } from "react";
import { type Acting, useActing } from "./acting.ts";
import { type AnswerOf, call, read } from "./client.ts";
import { refresh } from "./records.ts";

export type ConfigPatch = Readonly<Record<string, unknown>>;
export type ConfigChange = AnswerOf<"config.update">;

interface Checked {
  readonly patch: ConfigPatch;
  readonly etag: string | null;
  readonly change: ConfigChange;
  readonly isSaved: boolean;
}

export interface ConfigReview {
  readonly acting: Acting;
  /** What stands in the way of the last change that was checked. */
  readonly problems: ConfigChange["problems"];
  /** To be looked at, or saved a moment ago. */
  readonly checked: Checked | null;
  check(patch: ConfigPatch): Promise<void>;
  /** What was checked. */
  save(): Promise<void>;
  close(): void;
}

/** `onSaved` is called once the change is in the file. */
export function useConfigReview(onSaved: (patch: ConfigPatch) => void = () => {}): ConfigReview {
  const acting = useActing();
  const [checked, setChecked] = useState<Checked | null>(null);
  const [problems, setProblems] = useState<ConfigChange["problems"]>([]);
  return {
    acting,
    problems,
    checked,
    async check(patch) {
      await acting.run("check", async () => {
        const { etag } = await read("config.get", {}, null);
        const change = await call("config.update", { check: 1, patch }, matching(etag));
        setProblems(change.problems);
        setChecked(change.problems.length > 0 ? null : { patch, etag, change, isSaved: false });
      });
    },
    async save() {
      if (checked === null) return;
      const { patch, etag } = checked;
      await acting.run("save", async () => {
        const change = await call("config.update", { patch }, matching(etag));
        refresh("config.get", {});
        setChecked({ ...checked, change, isSaved: true });
        onSaved(patch);
      });
    },
    close() {
      setChecked(null);
    },
  };
}

function matching(etag: string | null) {
  return etag === null ? {} : { ifMatch: etag };
}
