// Dialogs: they keep the focus inside, close with Escape, and give the focus back.

import type { ComponentChildren, TargetedSubmitEvent, VNode } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { asCommand, curlCommand, asked, initialOf, perform, type Action, type FieldSpec, type Values } from "../lib/action";
import type { Problem } from "../lib/call";
import { parse } from "../lib/exact";
import { Commands } from "./basics";
import { Icon } from "./icon";
import { Refused } from "./show";

interface DialogProps {
  title: string;
  close(): void;
  children: ComponentChildren;
  class?: string;
}

export function Dialog({ title, close, children, class: name = "" }: DialogProps): VNode {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const dialog = element.current!;
    const before = document.activeElement as HTMLElement | null;
    dialog.showModal();
    return () => {
      if (dialog.open) dialog.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog ref={element} class={`dialog ${name}`} aria-labelledby={id} onClose={close} onClick={(event) => event.target === element.current && close()}>
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="icon-button quiet" aria-label="Close" onClick={close}><Icon name="close" /></button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** The dialog of the action that is asked for. */
export function ActionDialog(): VNode | null {
  const action = asked.value;
  return action && <Confirm key={action.title} action={action} />;
}

function Confirm({ action }: { action: Action }): VNode {
  const [values, setValues] = useState<Values>(() => initialOf(action));
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const close = (): void => {
    asked.value = null;
  };
  const wrong = (action.fields ?? []).find((field) => field.kind === "json" && values[field.name]?.trim() && !parse(values[field.name]!));
  const isReady = !isBusy && !wrong && (!action.typed || typed === action.typed);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    const refused = await perform(action, values);
    setBusy(false);
    setProblem(refused);
    if (!refused) close();
  };
  return (
    <Dialog title={action.title} close={close}>
      <form onSubmit={submit} noValidate>
        {action.about && <p class="about">{action.about}</p>}
        {(action.fields ?? []).map((field) => (
          <Field key={field.name} field={field} value={values[field.name] ?? ""} change={(value) => setValues({ ...values, [field.name]: value })} />
        ))}
        {wrong && <p class="problem">{wrong.label} is not JSON.</p>}
        {action.typed && (
          <label class="field">
            <span>Type <b>{action.typed}</b> to confirm</span>
            <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} autocomplete="off" />
          </label>
        )}
        <Refused problem={problem} />
        <Commands texts={[asCommand(action, values), curlCommand(action, values)]} />
        <footer>
          <button type="button" class="button" onClick={close}>Back</button>
          <button type="submit" class={`button ${action.isDangerous ? "danger-fill" : "primary"}`} disabled={!isReady}>{action.verb}</button>
        </footer>
      </form>
    </Dialog>
  );
}

export function Field({ field, value, change }: { field: FieldSpec; value: string; change(value: string): void }): VNode {
  const id = useId();
  const shared = { id, name: field.name, value, "aria-describedby": field.hint ? `${id}-hint` : undefined };
  if (field.kind === "check")
    return (
      <label class="field check">
        <input type="checkbox" checked={value === "true"} onChange={(event) => change(String(event.currentTarget.checked))} />
        <span>{field.label}</span>
      </label>
    );
  return (
    <div class="field">
      <label for={id}>{field.label}</label>
      {field.kind === "select" ? (
        <select {...shared} onChange={(event) => change(event.currentTarget.value)}>
          {field.options!.map((option) => <option key={option}>{option}</option>)}
        </select>
      ) : field.kind === "json" || field.kind === "long" ? (
        <textarea {...shared} class={field.kind === "json" ? "mono" : ""} rows={field.kind === "json" ? 10 : 3} spellcheck={false} onInput={(event) => change(event.currentTarget.value)} />
      ) : (
        <input {...shared} inputMode={field.kind === "number" ? "numeric" : undefined} autocomplete="off" onInput={(event) => change(event.currentTarget.value)} />
      )}
      {field.hint && <p class="hint" id={`${id}-hint`}>{field.hint}</p>}
    </div>
  );
}
