import { kept } from "./kept.ts";

export type Theme = "system" | "light" | "dark";

export const theme = kept<Theme>("theme", "system");

function show(): void {
  const chosen = theme.get();
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}

/** Before the first paint. */
export function followTheme(): void {
  theme.subscribe(show);
  show();
}
