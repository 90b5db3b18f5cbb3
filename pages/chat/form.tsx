// Forms: what a question with a schema asks for.

import type { TargetedSubmitEvent, VNode } from "preact";
import { useId, useRef, useState } from "preact/hooks";

import { Icon } from "./icons";
import { fieldsOf, objectOf, textOf, valueOf, type Field } from "./schema";
import type { Json, JsonObject } from "./types";
import { words } from "./words";

interface Props {
  schema: JsonObject;
  /** What was sent; the form then only shows it. */
  sent: Json | undefined;
  /** What was sent to the question before, which may be the same one. */
  before: Json | undefined;
  open: boolean;
  send(data: JsonObject, text: string): void;
}

export function Form({ schema, sent, before, open, send }: Props): VNode {
  const fields = fieldsOf(schema);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const element = useRef<HTMLFormElement>(null);

  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const data: JsonObject = {};
    const found: Record<string, string> = {};
    for (const field of fields) {
      try {
        const value = valueOf(field, form);
        if (value !== undefined) data[field.name] = value;
      } catch (error) {
        found[field.name] = (error as Error).message;
      }
    }
    setProblems(found);
    const first = fields.find((field) => field.name in found);
    if (first) (element.current?.elements.namedItem(first.name) as HTMLElement | null)?.focus?.();
    else send(data, summaryOf(fields, data));
  };

  if (!open)
    return (
      <p class="note done">
        <Icon name={sent === undefined ? "close" : "check"} />
        {sent === undefined ? words.formOpen : words.formSent}
      </p>
    );
  return (
    <form class="form" ref={element} onSubmit={submit} noValidate>
      <fieldset>
        <legend class="hidden">{textOf(schema.title) || words.form}</legend>
        {fields.map((field) => (
          <FieldView key={field.name} field={field} value={objectOf(before)[field.name] ?? field.initial} problem={problems[field.name]} />
        ))}
        <button type="submit" class="button primary">
          {words.send}
        </button>
      </fieldset>
    </form>
  );
}

/** What the transcript says in words. */
function summaryOf(fields: Field[], data: JsonObject): string {
  return fields
    .filter((field) => data[field.name] !== undefined)
    .map((field) => `${field.label}: ${wordOf(data[field.name]!)}`)
    .join("\n");
}

function wordOf(value: Json): string {
  if (typeof value === "boolean") return value ? words.yes : words.no;
  if (Array.isArray(value)) return value.map(wordOf).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

interface FieldProps {
  field: Field;
  value: Json;
  problem: string | undefined;
}

function FieldView({ field, value, problem }: FieldProps): VNode {
  const id = useId();
  const hints = [field.hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  const shared = {
    id,
    name: field.name,
    required: field.required,
    "aria-invalid": problem ? ("true" as const) : undefined,
    "aria-describedby": hints || undefined,
  };
  const below = (
    <>
      {field.hint && (
        <p class="note" id={`${id}-hint`}>
          {field.hint}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </>
  );
  if (field.kind === "boolean")
    return (
      <div class="field">
        <label class="option">
          <input type="checkbox" {...shared} required={false} defaultChecked={value === true} />
          <span>{field.label}</span>
        </label>
        {below}
      </div>
    );
  if (field.kind === "choices" && field.options.length)
    return (
      <fieldset class="field">
        <legend>{field.label}</legend>
        {field.options.map((option, at) => (
          <label class="option" key={at}>
            <input
              type="checkbox"
              name={field.name}
              value={at}
              defaultChecked={Array.isArray(value) && value.includes(option)}
            />
            <span>{wordOf(option)}</span>
          </label>
        ))}
        {below}
      </fieldset>
    );
  return (
    <div class="field">
      <label for={id}>
        {field.label}
        {!field.required && <span class="note"> ({words.optional})</span>}
      </label>
      <Control field={field} value={value} shared={shared} />
      {below}
    </div>
  );
}

function Control({ field, value, shared }: { field: Field; value: Json; shared: object }): VNode {
  const text = value === null ? "" : wordOf(value);
  if (field.kind === "choice")
    return (
      <select {...shared} defaultValue={value === null ? "" : String(field.options.indexOf(value))}>
        <option value="">{words.choose}</option>
        {field.options.map((option, at) => (
          <option key={at} value={at} selected={value !== null && option === value}>
            {wordOf(option)}
          </option>
        ))}
      </select>
    );
  if (field.kind === "long" || field.kind === "json") return <textarea {...shared} rows={3} defaultValue={text} />;
  const isNumber = field.kind === "number" || field.kind === "integer";
  return (
    <input
      {...shared}
      type={(isNumber ? "text" : field.input) as "text"}
      inputMode={isNumber ? (field.kind === "integer" ? "numeric" : "decimal") : undefined}
      autocomplete={field.input === "email" ? "email" : "on"}
      defaultValue={text}
      dir="auto"
    />
  );
}
