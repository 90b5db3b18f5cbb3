// The part of JSON Schema that forms need. The server validates; this only chooses the fields.

import type { Json, JsonObject } from "./types";
import { words } from "./words";

export type FieldKind = "text" | "long" | "number" | "integer" | "boolean" | "choice" | "choices" | "json";

export interface Field {
  name: string;
  label: string;
  hint: string;
  kind: FieldKind;
  /** The type of an input element. */
  input: string;
  required: boolean;
  initial: Json;
  options: Json[];
  schema: JsonObject;
}

const INPUTS: Record<string, string> = {
  email: "email",
  date: "date",
  "date-time": "datetime-local",
  time: "time",
  uri: "url",
  url: "url",
  password: "password",
};
const LONG = 200;

export function fieldsOf(schema: JsonObject): Field[] {
  const properties = objectOf(schema.properties);
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return Object.entries(properties).map(([name, given]) => {
    const found = resolved(objectOf(given), schema);
    const kind = kindOf(found);
    return {
      name,
      label: textOf(found.title) || wordsOf(name),
      hint: textOf(found.description),
      kind,
      input: INPUTS[textOf(found.format)] ?? "text",
      required: required.has(name),
      initial: found.default ?? null,
      options: optionsOf(kind === "choices" ? resolved(objectOf(found.items), schema) : found),
      schema: found,
    };
  });
}

function kindOf(schema: JsonObject): FieldKind {
  if (optionsOf(schema).length) return "choice";
  switch (schema.type) {
    case "boolean":
    case "integer":
    case "number":
      return schema.type;
    case "string":
      return Number(schema.maxLength) > LONG ? "long" : "text";
    case "array":
      return "choices";
    default:
      return "json";
  }
}

function optionsOf(schema: JsonObject): Json[] {
  if (Array.isArray(schema.enum)) return schema.enum;
  return schema.const === undefined ? [] : [schema.const];
}

/** Follow references, and take the first type of an optional one. */
export function resolved(schema: JsonObject, root: JsonObject, depth = 0): JsonObject {
  if (depth > 8) return schema;
  const { $ref, anyOf, oneOf, allOf, ...rest } = schema;
  if (typeof $ref === "string" && $ref.startsWith("#/")) {
    let target: Json = root;
    for (const part of $ref.slice(2).split("/")) target = objectOf(target)[part] ?? null;
    return { ...resolved(objectOf(target), root, depth + 1), ...rest };
  }
  const choices = [anyOf, oneOf, allOf].find(Array.isArray) as Json[] | undefined;
  const first = choices?.map(objectOf).find((one) => one.type !== "null");
  return first ? { ...resolved(first, root, depth + 1), ...rest } : schema;
}

export function objectOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}

export function wordsOf(name: string): string {
  const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim();
  return words ? words[0]!.toUpperCase() + words.slice(1) : name;
}

/** The value of a field; throws a sentence that says what is wrong with it. */
export function valueOf(field: Field, form: FormData): Json | undefined {
  if (field.kind === "boolean") return form.get(field.name) !== null;
  if (field.kind === "choices" && field.options.length)
    return form.getAll(field.name).map((at) => field.options[Number(at)] ?? null);
  const text = String(form.get(field.name) ?? "").trim();
  if (!text) {
    if (field.required) throw new Error(words.empty);
    return undefined;
  }
  if (field.kind === "choice") return field.options[Number(text)];
  if (field.kind === "number" || field.kind === "integer") {
    const number = Number(text);
    if (!Number.isFinite(number)) throw new Error(words.number);
    if (field.kind === "integer" && !Number.isInteger(number)) throw new Error(words.integer);
    return number;
  }
  if (field.kind === "choices") return text.split(/\s*,\s*/);
  if (field.kind === "json") {
    try {
      return JSON.parse(text) as Json;
    } catch {
      return text;
    }
  }
  return text;
}
