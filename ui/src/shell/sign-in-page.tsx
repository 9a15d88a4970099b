import { type FormEvent, useEffect, useRef, useState } from "react";
import { asCallError, type CallError, call } from "../data/client.ts";
import { codeIn } from "../data/sign-in.ts";
import { Button } from "../parts/button.tsx";
import { Seal } from "../parts/seal.tsx";
import { sentence, textOf } from "../words.ts";
import styles from "./sign-in-page.module.css";

const NO_CODE = "That is no login link. Paste the whole line that surety login printed.";

/** The one page for a browser that is not signed in. It holds nothing of this home. */
export function SignInPage({ code }: { readonly code: string }) {
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly problem: string }>({
    isBusy: code !== "",
    problem: "",
  });
  const enter = async (given: string | null): Promise<void> => {
    if (given === null) return setState({ isBusy: false, problem: NO_CODE });
    setState({ isBusy: true, problem: "" });
    try {
      await call("login", { code: given });
      // Loaded again, so that nothing of the page without a cookie is left.
      location.replace("/");
    } catch (error) {
      setState({ isBusy: false, problem: wordsOf(asCallError(error)) });
    }
  };
  useEffect(() => {
    document.title = "Sign in – Surety";
  }, []);
  // React runs an effect twice in development, and a code counts once.
  const hasTried = useRef(false);
  useEffect(() => {
    if (hasTried.current || code === "") return;
    hasTried.current = true;
    enter(code);
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    enter(codeIn(String(new FormData(event.currentTarget).get("link") ?? "")));
  };
  const { isBusy, problem } = state;
  return (
    <main className={styles["page"]}>
      <Seal size={40} ticks={0} />
      <h1>{isBusy ? "Signing in…" : "This browser is not signed in"}</h1>
      <p role="alert" className={styles["problem"]}>
        {problem}
      </p>
      <p>On the machine where Surety runs, type:</p>
      <pre className={styles["command"]}>surety login</pre>
      <p>It prints a link. Open it in this browser, or paste it here. It works once, for ten minutes.</p>
      <form className={styles["form"]} onSubmit={submit}>
        <label htmlFor="link">Login link</label>
        <input id="link" name="link" type="text" autoComplete="off" spellCheck={false} disabled={isBusy} />
        <Button submits tone="primary" blocked={isBusy ? "Signing in…" : null}>
          Sign in
        </Button>
      </form>
      <p className={styles["minor"]}>
        In a clone the command is <code>npm run surety login</code>. Starting the gateway prints such a link too. The
        browser then holds a cookie that no script can read; tokens never reach this page. Signed in already?{" "}
        <a href="/">Go to Surety</a>
      </p>
    </main>
  );
}

function wordsOf(error: CallError): string {
  return error.code === "auth.required" ? sentence(error.message) : textOf(error);
}
