// JSON Schema as fields of a form: objects, lists and alternatives inside each other. The server validates.

import { objectOf, resolved, textOf, wordsOf } from "../../chat/schema";
import type { Json, JsonObject } from "../../chat/types";

export interface Field {
  /** Where its value is, such as `items.0.amount`; the server names problems the same way. */
  path: string;
  label: string;
  hint: string;
  kind: "text" | "long" | "number" | "integer" | "boolean" | "choice" | "object" | "list" | "variant" | "json";
  input: string;
  required: boolean;
  initial: Json | undefined;
  options: { label: string; value: Json }[];
  /** Of an object its properties, of alternatives each of them. */
  fields: Field[];
  /** Of a list: one of its items. */
  item?: (at: number) => Field;
}

/** What a person has filled in so far: texts, and trees of them. */
export type Raw = string | boolean | Raw[] | { [name: string]: Raw };

const INPUTS: Record<string, string> = { email: "email", date: "date", "date-time": "datetime-local", time: "time", uri: "url" };
const LONG = 200;
const DEEPEST = 8;

export function fieldOf(given: JsonObject, root: JsonObject, path = "", required = true, name = ""): Field {
  const isDeep = path.split(".").length > DEEPEST;
  const choices = [given.oneOf, given.anyOf].find(Array.isArray)?.map(objectOf).filter((one) => one.type !== "null") ?? [];
  const constants = choices.filter((one) => one.const !== undefined);
  const variants = choices.length > 1 && constants.length < choices.length ? choices : [];
  const schema = variants.length || constants.length ? given : resolved(given, root);
  const values = Array.isArray(schema.enum) ? schema.enum : schema.const === undefined ? [] : [schema.const];
  const options = constants.length ? constants.map((one) => ({ label: textOf(one.title) || worded(one.const!), value: one.const! })) : values.map((value) => ({ label: worded(value), value }));
  const properties = Object.entries(objectOf(schema.properties));
  const wanted = new Set(Array.isArray(schema.required) ? schema.required : []);
  const inner = (key: string): string => (path ? `${path}.${key}` : key);
  const kind = isDeep ? "json" : variants.length ? "variant" : options.length ? "choice" : kindOf(schema, properties.length > 0);
  const field: Field = {
    path,
    label: textOf(schema.title) || wordsOf(name),
    hint: textOf(schema.description),
    kind,
    input: INPUTS[textOf(schema.format)] ?? "text",
    required,
    initial: schema.default,
    options,
    fields: [],
  };
  if (kind === "object") field.fields = properties.map(([key, one]) => fieldOf(objectOf(one), root, inner(key), wanted.has(key), key));
  if (kind === "variant") field.fields = variants.map((one, at) => fieldOf(one, root, path, true, textOf(one.title) || textOf(one.$ref).split("/").at(-1) || `${textOf(one.type) || "Choice"} ${at + 1}`));
  if (kind === "list") field.item = (at) => fieldOf(objectOf(schema.items), root, inner(String(at)), true, `${field.label} ${at + 1}`);
  return field;
}

function kindOf(schema: JsonObject, hasProperties: boolean): Field["kind"] {
  if (schema.type === "boolean" || schema.type === "integer" || schema.type === "number") return schema.type;
  if (schema.type === "string") return Number(schema.maxLength) > LONG ? "long" : "text";
  if (schema.type === "array" && schema.items) return "list";
  return hasProperties ? "object" : "json";
}

function worded(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What is filled in at first. */
export function rawOf(field: Field, value: Json | undefined = field.initial): Raw {
  switch (field.kind) {
    case "object":
      return Object.fromEntries(field.fields.map((one) => [keyOf(one), rawOf(one, objectOf(value)[keyOf(one)] ?? one.initial)]));
    case "list":
      return Array.isArray(value) ? value.map((one, at) => rawOf(field.item!(at), one)) : [];
    case "variant":
      return { at: "0", value: rawOf(field.fields[0]!, value ?? field.fields[0]!.initial) };
    case "boolean":
      return value === true;
    case "choice":
      return value === undefined ? "" : String(field.options.findIndex((one) => JSON.stringify(one.value) === JSON.stringify(value)));
    default:
      return value === undefined || value === null ? "" : worded(value);
  }
}

export function keyOf(field: Field): string {
  return field.path.split(".").at(-1)!;
}

/** Whether nothing is filled in; which alternative is chosen says nothing. */
function isBlank(raw: Raw): boolean {
  if (typeof raw !== "object") return !raw;
  return Object.entries(raw).every(([name, one]) => (name === "at" && "value" in raw) || isBlank(one));
}

/** The value of what is filled in; what is wrong is noted by its path. */
export function valueOf(field: Field, raw: Raw, problems: Record<string, string>): Json | undefined {
  const isTree = field.kind === "object" || field.kind === "variant";
  if (isTree && !field.required && isBlank(raw)) return undefined;
  if (field.kind === "object") {
    const found = field.fields.map((one) => [keyOf(one), valueOf(one, (raw as Record<string, Raw>)[keyOf(one)]!, problems)] as const).filter((entry): entry is [string, Json] => entry[1] !== undefined);
    return Object.fromEntries(found);
  }
  if (field.kind === "list") return (raw as Raw[]).length || field.required ? (raw as Raw[]).map((one, at) => valueOf(field.item!(at), one, problems) ?? null) : undefined;
  if (field.kind === "variant") return valueOf(field.fields[Number((raw as Record<string, Raw>).at)]!, (raw as Record<string, Raw>).value!, problems);
  if (field.kind === "boolean") return raw as boolean;
  const text = String(raw).trim();
  if (!text) {
    if (field.required) problems[field.path] = "Please fill this in.";
    return undefined;
  }
  if (field.kind === "choice") return field.options[Number(text)]!.value;
  if (field.kind === "text" || field.kind === "long") return text;
  try {
    const value = JSON.parse(text) as Json;
    if (field.kind === "json" || (typeof value === "number" && (field.kind === "number" || Number.isInteger(value)))) return value;
  } catch {
    if (field.kind === "json") return text;
  }
  problems[field.path] = field.kind === "integer" ? "Please write a whole number." : "Please write a number.";
  return undefined;
}
