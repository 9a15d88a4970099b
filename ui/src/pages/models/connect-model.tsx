import { useState } from "react";
import { type ConfigPatch, useConfigReview } from "../../data/config-review.ts";
import { refresh } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { ConfigReviewDialog } from "../../parts/config-review.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { CheckBox, Field, FieldRow, Input, Select } from "../../parts/field.tsx";
import styles from "./models.module.css";
import type { ModelList } from "./models-card.tsx";

/** Providers that need no address; any other is asked for its own. */
const KNOWN = [
  ["openai", "OpenAI"],
  ["anthropic", "Anthropic"],
  ["openrouter", "OpenRouter"],
  ["moonshot", "Moonshot"],
  ["ollama", "Ollama, on this machine"],
  ["other", "Another one that speaks OpenAI's protocol"],
] as const;
type Known = (typeof KNOWN)[number][0];
const EXAMPLES: Readonly<Record<Known, string>> = {
  openai: "gpt-4o",
  anthropic: "claude-sonnet-4-5",
  openrouter: "meta-llama/llama-3.3-70b-instruct",
  moonshot: "kimi-k2-0905-preview",
  ollama: "qwen3:8b",
  other: "model-name",
};

interface Wanted {
  readonly provider: Known;
  readonly id: string;
  readonly baseUrl: string;
  readonly isLocal: boolean;
  readonly model: string;
  readonly contextWindow: string;
  readonly maxOutputTokens: string;
  readonly isDefault: boolean;
}

const FIRST: Wanted = {
  provider: "openai",
  id: "",
  baseUrl: "",
  isLocal: false,
  model: "",
  contextWindow: "128000",
  maxOutputTokens: "16384",
  isDefault: true,
};

/** From the demonstration to a real model: the config first, then the key, then a check; nothing is restarted. */
export function ConnectModel({ list }: { list: ModelList }) {
  const [wanted, setWanted] = useState(FIRST);
  const review = useConfigReview(() => {
    setWanted(FIRST);
    refresh("models.list", {});
  });
  const isDemo = list.default?.startsWith("builtin:") ?? true;
  const isOther = wanted.provider === "other";
  const set = (change: Partial<Wanted>): void => setWanted({ ...wanted, ...change });
  const problemAt = (end: string): string | null =>
    review.problems.find(({ path }) => path.endsWith(end))?.message ?? null;
  const general = review.problems.filter(({ path }) => !FIELDS.some((end) => path.endsWith(end)));
  return (
    <Card title="Connect a model">
      {isDemo && (
        <p className={styles["demo"]}>
          The built-in demonstration answers now. It needs no key and no network, and knows a few phrases. Connect a
          model here; then add its key, and check it.
        </p>
      )}
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (review.acting.blocked === null) review.check(patchOf(wanted));
        }}
      >
        <FieldRow>
          <Field label="Provider">
            {(control) => (
              <Select
                {...control}
                value={wanted.provider}
                options={KNOWN}
                onChange={(provider) => set({ provider, isLocal: provider === "ollama" })}
              />
            )}
          </Field>
          <Field label="Model" error={problemAt(`.models`)}>
            {(control) => (
              <Input
                {...control}
                isFact
                required
                placeholder={EXAMPLES[wanted.provider]}
                value={wanted.model}
                onChange={(event) => set({ model: event.target.value })}
              />
            )}
          </Field>
        </FieldRow>
        {isOther && (
          <FieldRow>
            <Field label="Name of the provider" hint="Lower case; its key is NAME_API_KEY.">
              {(control) => (
                <Input
                  {...control}
                  isFact
                  required
                  placeholder="mine"
                  value={wanted.id}
                  onChange={(event) => set({ id: event.target.value })}
                />
              )}
            </Field>
            <Field label="Address" error={problemAt(".baseUrl")}>
              {(control) => (
                <Input
                  {...control}
                  isFact
                  required
                  placeholder="https://models.example.org/v1"
                  value={wanted.baseUrl}
                  onChange={(event) => set({ baseUrl: event.target.value })}
                />
              )}
            </Field>
          </FieldRow>
        )}
        <FieldRow>
          <Field label="Context, in tokens" error={problemAt(".contextWindow")}>
            {(control) => (
              <Input
                {...control}
                inputMode="numeric"
                value={wanted.contextWindow}
                onChange={(event) => set({ contextWindow: event.target.value })}
              />
            )}
          </Field>
          <Field label="Longest answer, in tokens" error={problemAt(".maxOutputTokens")}>
            {(control) => (
              <Input
                {...control}
                inputMode="numeric"
                value={wanted.maxOutputTokens}
                onChange={(event) => set({ maxOutputTokens: event.target.value })}
              />
            )}
          </Field>
        </FieldRow>
        {isOther && (
          <CheckBox isOn={wanted.isLocal} onChange={(isLocal) => set({ isLocal })}>
            It runs here and needs no key
          </CheckBox>
        )}
        <CheckBox isOn={wanted.isDefault} onChange={(isDefault) => set({ isDefault })}>
          Make it the default
        </CheckBox>
        <div className={styles["actions"]}>
          <Button tone="primary" submits blocked={review.acting.blocked}>
            {review.acting.busy === "check" ? "Checking…" : "Connect…"}
          </Button>
        </div>
        {review.checked === null && review.acting.error !== null && <ErrorNote error={review.acting.error} />}
        {general.map(({ path, message }) => (
          <p key={path + message} role="alert" className={styles["problem"]}>
            {path}: {message}
          </p>
        ))}
      </form>
      <ConfigReviewDialog review={review} />
    </Card>
  );
}

const FIELDS = [".models", ".baseUrl", ".contextWindow", ".maxOutputTokens"];

function patchOf({
  provider,
  id,
  baseUrl,
  isLocal,
  model,
  contextWindow,
  maxOutputTokens,
  isDefault,
}: Wanted): ConfigPatch {
  const providerId = provider === "other" ? id.trim() : provider;
  const name = model.trim();
  const address = provider === "other" ? { baseUrl: baseUrl.trim(), local: isLocal } : {};
  const models = { [name]: { contextWindow: Number(contextWindow), maxOutputTokens: Number(maxOutputTokens) } };
  return {
    models: {
      ...(isDefault ? { default: `${providerId}:${name}` } : {}),
      providers: { [providerId]: { ...address, models } },
    },
  };
}
