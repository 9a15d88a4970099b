/** Configs that tests start from. */
import type { Config } from "../../../src/boot/config/config.ts";
import { readConfig } from "../../../src/boot/config/read-config.ts";

export const KIMI = { contextWindow: 131072, maxOutputTokens: 4096 };

/** The seed's own example, word for word (P-1.2). */
export const MOONSHOT_CONFIG = `{
  models: {
    providers: {
      moonshot: {
        enabled: true,
        baseUrl: "https://api.moonshot.cn/v1",
        startupValidation: "warn", // strict|warn|off
        models: {
          "kimi-k1-128k": {
            contextWindow: 131072,
            maxOutputTokens: 4096,
            supportsTools: true,
            supportsStreaming: true
          },
          "kimi-k1-32k": {
            contextWindow: 32768,
            maxOutputTokens: 4096,
            supportsTools: true,
            supportsStreaming: true
          }
        },
        defaults: {
          model: "kimi-k1-128k"
        }
      }
    }
  }
}`;

export function readOk(text: string): Config {
  const verdict = readConfig(text, "surety.json5");
  if (!verdict.ok) throw new Error(verdict.problems.map(({ message }) => message).join("\n"));
  return verdict.config;
}
