import { useEffect } from "react";
import { Seal } from "../parts/seal.tsx";
import styles from "./sign-in-page.module.css";

/** The one page for a browser that is not signed in. It holds nothing of this home. */
export function SignInPage() {
  useEffect(() => {
    document.title = "Sign in – Surety";
  }, []);
  return (
    <main className={styles["page"]}>
      <Seal size={40} ticks={0} />
      <h1>This browser is not signed in</h1>
      <p>On the machine where Surety runs, type:</p>
      <pre className={styles["command"]}>surety login</pre>
      <p>It prints a link. Open it here; it works once, and for a few minutes.</p>
      <p className={styles["minor"]}>
        Starting the gateway prints such a link too. The browser then holds a cookie that no script can read; tokens
        never reach this page. <a href="/">Try again</a>
      </p>
    </main>
  );
}
