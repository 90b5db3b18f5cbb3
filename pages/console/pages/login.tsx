// Login: a key becomes a session that only the server can read.

import type { TargetedSubmitEvent, VNode } from "preact";
import { useState } from "preact/hooks";

import { Problem } from "../lib/call";
import { logIn } from "../lib/session";
import { Icon } from "../parts/icon";

export function Login(): VNode {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get("key") ?? "").trim();
    setBusy(true);
    try {
      await logIn(key);
    } catch (error) {
      setProblem(error instanceof Problem ? error.message : String(error));
    }
    setBusy(false);
  };
  return (
    <main class="login">
      <form onSubmit={submit} noValidate>
        <svg viewBox="0 0 24 24" aria-hidden="true" class="mark">
          <path d="M12 2.500v6M12 15.500v6M5 7.500c0 5 14 4 14 9M19 7.500c0 5-14 4-14 9" />
        </svg>
        <h1>Holdfast</h1>
        <p class="about">Log in with an API key. The browser keeps a session of 12 hours and never the key.</p>
        <label class="field">
          <span>API key</span>
          <input name="key" type="password" autocomplete="off" autofocus required aria-invalid={problem ? "true" : undefined} aria-describedby={problem ? "login-problem" : undefined} />
        </label>
        {problem && <p class="problem" id="login-problem" role="alert">{problem}</p>}
        <button type="submit" class="button primary wide" disabled={isBusy}>
          <Icon name="key" /> Log in
        </button>
        <p class="hint">An administrator makes one with <code>holdfast keys create --role operator</code>.</p>
      </form>
    </main>
  );
}
