// Forms of a JSON Schema. What a person fills in stays until it is sent.

import type { TargetedSubmitEvent, VNode } from "preact";
import { useId, useMemo, useState } from "preact/hooks";

import type { Json, JsonObject } from "../../chat/types";
import type { Problem } from "../lib/call";
import { fieldOf, keyOf, rawOf, valueOf, type Field, type Raw } from "../lib/fields";
import { Icon } from "./icon";

interface Props {
  schema: JsonObject;
  verb: string;
  isAllowed: boolean;
  /** Why the server refused what was sent; it names the field. */
  problem: Problem | null;
  send(data: Json): void;
}

export function Form({ schema, verb, isAllowed, problem, send }: Props): VNode {
  const field = useMemo(() => fieldOf(schema, schema), [JSON.stringify(schema)]);
  const [raw, setRaw] = useState<Raw>(() => rawOf(field));
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const problems: Record<string, string> = {};
    const value = valueOf(field, raw, problems);
    setWrong(problems);
    const first = Object.keys(problems)[0];
    if (first === undefined) send(value ?? {});
    else event.currentTarget.querySelector<HTMLElement>(`[name="${CSS.escape(first)}"]`)?.focus();
  };
  // The server says `payload.items.0.amount`.
  const refused = String(problem?.more.field ?? "").split(".").slice(1).join(".");
  const problems = refused ? { [refused]: problem!.message, ...wrong } : wrong;
  return (
    <form class="form" onSubmit={submit} noValidate>
      <Inner field={field} raw={raw} change={setRaw} problems={problems} isOutermost />
      <button type="submit" class="button primary" disabled={!isAllowed}>{verb}</button>
    </form>
  );
}

interface InnerProps {
  field: Field;
  raw: Raw;
  change(raw: Raw): void;
  problems: Record<string, string>;
  isOutermost?: boolean;
}

function Inner({ field, raw, change, problems, isOutermost = false }: InnerProps): VNode {
  if (field.kind === "object") {
    const value = raw as Record<string, Raw>;
    const fields = field.fields.map((one) => <Inner key={one.path} field={one} raw={value[keyOf(one)]!} change={(next) => change({ ...value, [keyOf(one)]: next })} problems={problems} />);
    return isOutermost ? <div class="stack">{fields}</div> : <Group field={field} problems={problems}>{fields}</Group>;
  }
  if (field.kind === "variant") {
    const { at, value } = raw as { at: string; value: Raw };
    const chosen = field.fields[Number(at)]!;
    return (
      <Group field={field} problems={problems}>
        <select aria-label={`Kind of ${field.label || "value"}`} value={at} onChange={(event) => change({ at: event.currentTarget.value, value: rawOf(field.fields[Number(event.currentTarget.value)]!) })}>
          {field.fields.map((one, index) => <option key={index} value={index}>{one.label}</option>)}
        </select>
        <Inner key={at} field={chosen} raw={value} change={(next) => change({ at, value: next })} problems={problems} isOutermost />
      </Group>
    );
  }
  if (field.kind === "list") {
    const items = raw as Raw[];
    return (
      <Group field={field} problems={problems}>
        {items.map((one, at) => (
          <div class="list-item" key={`${items.length} ${at}`}>
            <Inner field={field.item!(at)} raw={one} change={(next) => change(items.with(at, next))} problems={problems} />
            <button type="button" class="icon-button quiet" aria-label={`Remove ${field.item!(at).label}`} onClick={() => change(items.toSpliced(at, 1))}>
              <Icon name="close" />
            </button>
          </div>
        ))}
        <button type="button" class="button slim" onClick={() => change([...items, rawOf(field.item!(items.length))])}>
          <Icon name="plus" /> Add
        </button>
      </Group>
    );
  }
  return <Single field={field} raw={raw as string | boolean} change={change} problem={problems[field.path]} />;
}

function Group({ field, problems, children }: { field: Field; problems: Record<string, string>; children: preact.ComponentChildren }): VNode {
  return (
    <fieldset class="group">
      <legend>{field.label}</legend>
      {field.hint && <p class="hint">{field.hint}</p>}
      {children}
      {problems[field.path] && <p class="problem">{problems[field.path]}</p>}
    </fieldset>
  );
}

function Single({ field, raw, change, problem }: { field: Field; raw: string | boolean; change(raw: Raw): void; problem: string | undefined }): VNode {
  const id = useId();
  const shared = { id, name: field.path, required: field.required, "aria-invalid": problem ? ("true" as const) : undefined, "aria-describedby": problem || field.hint ? `${id}-about` : undefined };
  const typed = (event: { currentTarget: { value: string } }): void => change(event.currentTarget.value);
  const isNumber = field.kind === "number" || field.kind === "integer";
  return (
    <div class={`field ${field.kind === "boolean" ? "check" : ""}`}>
      {field.kind === "boolean" && <input type="checkbox" {...shared} required={false} checked={raw === true} onChange={(event) => change(event.currentTarget.checked)} />}
      <label for={id}>
        {field.label}
        {!field.required && field.kind !== "boolean" && <span class="note"> (optional)</span>}
      </label>
      {field.kind === "choice" && (
        <select {...shared} value={String(raw)} onChange={typed}>
          <option value="">Choose</option>
          {field.options.map((one, at) => <option key={at} value={at}>{one.label}</option>)}
        </select>
      )}
      {(field.kind === "long" || field.kind === "json") && <textarea {...shared} class={field.kind === "json" ? "mono" : ""} rows={3} value={String(raw)} onInput={typed} />}
      {(field.kind === "text" || isNumber) && <input {...shared} type={(isNumber ? "text" : field.input) as "text"} inputMode={isNumber ? "decimal" : undefined} value={String(raw)} autocomplete="off" onInput={typed} />}
      {(problem || field.hint) && <p class={problem ? "problem" : "hint"} id={`${id}-about`}>{problem || field.hint}</p>}
    </div>
  );
}
