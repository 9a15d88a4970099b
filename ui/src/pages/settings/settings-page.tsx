import { Link } from "wouter";
import { PageFrame } from "../../parts/page-frame.tsx";
import { useTitle } from "../../shell/page-title.ts";
import type { PageProps } from "../page.ts";
import { AccessPart } from "./access-part.tsx";
import { ChannelsPart } from "./channels-part.tsx";
import { ConfigForm } from "./config-form.tsx";
import { HealthPart } from "./health-part.tsx";
import { SecretsPart } from "./secrets-part.tsx";
import styles from "./settings.module.css";

const PARTS = [
  { name: "", words: "Configuration", View: ConfigForm },
  { name: "secrets", words: "Secrets", View: SecretsPart },
  { name: "access", words: "Who may come in", View: AccessPart },
  { name: "channels", words: "Channels", View: ChannelsPart },
  { name: "health", words: "Health", View: HealthPart },
] as const;

export function SettingsPage({ params }: PageProps) {
  const part = PARTS.find(({ name }) => name === (params["part"] ?? "")) ?? PARTS[0];
  useTitle(part.name === "" ? "Settings" : `${part.words}, settings`);
  return (
    <PageFrame title="Settings">
      <nav className={styles["parts"]} aria-label="Settings">
        {PARTS.map(({ name, words }) => (
          <Link
            key={name}
            href={name === "" ? "/settings" : `/settings/${name}`}
            aria-current={name === part.name ? "page" : undefined}
          >
            {words}
          </Link>
        ))}
      </nav>
      <part.View />
    </PageFrame>
  );
}
