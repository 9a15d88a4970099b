import { KeyRound } from "lucide-react";
import { Card } from "../../parts/card.tsx";
import { CopyLine } from "../../parts/copy-line.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Tag } from "../../parts/tag.tsx";
import styles from "./models.module.css";
import type { ModelList } from "./models-card.tsx";

type Provider = ModelList["providers"][number];

/** Where models are asked, and whether their keys are there. A key itself never comes here. */
export function ProvidersCard({ list: { providers } }: { list: ModelList }) {
  if (providers.length === 0) return null;
  return (
    <Card title="Providers">
      <ul className={styles["models"]}>
        {providers.map((provider) => (
          <ProviderRow key={provider.id} provider={provider} />
        ))}
      </ul>
    </Card>
  );
}

function ProviderRow({
  provider: { id, kind, enabled, local, base_url, key_variable, key_present, missing },
}: {
  provider: Provider;
}) {
  return (
    <li className={styles["model"]}>
      <div className={styles["modelHead"]}>
        <h3>
          <Mono>{id}</Mono>
        </h3>
        {!enabled && <Tag>switched off</Tag>}
        {local ? (
          <Tag>no key needed</Tag>
        ) : key_present ? (
          <Tag icon={<KeyRound size={13} aria-hidden="true" />}>{key_variable} is set</Tag>
        ) : (
          <Tag tone="wait">{key_variable} is missing</Tag>
        )}
        <span className={styles["minor"]}>
          {kind}
          {base_url !== null && (
            <>
              , <Mono>{base_url}</Mono>
            </>
          )}
        </span>
      </div>
      {missing !== null && enabled && (
        <div className={styles["missing"]}>
          <p>
            Add this line to <Mono>{missing.file}</Mono>, with the key behind the sign. No restart is needed: this page
            shows when it is there.
          </p>
          <CopyLine name={`the line for ${key_variable}`} text={missing.line.replace(/…$/, "")} />
        </div>
      )}
    </li>
  );
}
