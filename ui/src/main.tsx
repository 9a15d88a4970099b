/** Where the page begins. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./styles/tokens.css";
import "./styles/base.css";
import { followFeed } from "./data/feed.ts";
import { takeCode } from "./data/sign-in.ts";
import { followTheme } from "./data/theme.ts";
import { listenToKeys } from "./shell/keyboard.ts";
import { Shell } from "./shell/shell.tsx";

followTheme();
listenToKeys();
const loginCode = takeCode();
if (loginCode === null) followFeed();
const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <Shell loginCode={loginCode} />
    </StrictMode>,
  );
}
