// What a person can do: a call, said in words, and the command that does the same.

import { signal } from "@preact/signals";

import type { Role } from "../api/schemas";
import { addressOf, Problem, send, type Target } from "./call";
import { reloadAll } from "./live";
import { scope } from "./session";
import { tell } from "./toasts";

export interface FieldSpec {
  name: string;
  label: string;
  kind: "text" | "number" | "long" | "json" | "select" | "check";
  initial?: string;
  hint?: string;
  options?: string[];
}

export type Values = Record<string, string>;

export interface Action {
  /** "Cancel run ord-1" */
  title: string;
  /** What will happen, in a sentence. */
  about?: string;
  /** The word on the button. */
  verb: string;
  icon?: string;
  target: Target;
  path?: Record<string, string>;
  query?: object;
  fields?: FieldSpec[];
  /** The body, from what was filled in; a string is sent as it is. */
  body?: (values: Values) => object | string | undefined;
  /** The command after `holdfast`. */
  cli: (values: Values) => string;
  role?: Role;
  isDangerous?: boolean;
  /** What to type before it is done. */
  typed?: string;
  done?: (reply: any, values: Values) => string;
  after?: (reply: any) => void;
}

/** The action whose dialog is open. */
export const asked = signal<Action | null>(null);

export function ask(action: Action): void {
  asked.value = action;
}

export const REASON: FieldSpec = { name: "reason", label: "Reason", kind: "text", hint: "Kept in the history and in the audit log." };

export function initialOf(action: Action): Values {
  return Object.fromEntries((action.fields ?? []).map((field) => [field.name, field.initial ?? ""]));
}

function request(action: Action, values: Values): { method: string; address: string; text: string | undefined } {
  const method = action.target.slice(0, action.target.indexOf(" "));
  const body = action.body?.(values) ?? (method === "GET" || method === "DELETE" ? undefined : {});
  const query = action.path?.tenant === undefined ? { tenant: TENANTLESS.test(action.target) ? undefined : scope.value, ...action.query } : action.query;
  const address = addressOf(action.target, { ...(action.path ? { path: action.path } : {}), ...(query ? { query } : {}) });
  return { method, address, text: typeof body === "object" ? JSON.stringify(body) : body };
}

/** Routes about the whole store take no tenant. */
const TENANTLESS = /\/v1\/(lanes|workers|keys|settings|admin|envs\/\{env\}$|bulk|views|writer-leases:|executions$|secrets)/;

export function curlCommand(action: Action, values: Values): string {
  const { method, address, text } = request(action, values);
  return written(method, address, text);
}

function written(method: string, address: string, text: string | undefined): string {
  const lines = [`curl -X ${method} ${quoted(`${location.origin}${address}`)}`];
  lines.push('-H "Authorization: Bearer $HOLDFAST_KEY"');
  if (text !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${quoted(text)}`);
  return lines.join(" \\\n  ");
}

export function asCommand(action: Action, values: Values): string {
  return `holdfast ${action.cli(values)}`;
}

export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** An option of a command, if it has a value. */
export function option(name: string, value: string | undefined): string {
  return value ? ` --${name} ${quoted(value)}` : "";
}

export async function perform(action: Action, values: Values): Promise<Problem | null> {
  const { method, address, text } = request(action, values);
  try {
    const response = await send(method, address, text);
    const reply = response.status === 204 ? undefined : await response.json();
    tell(action.done?.(reply, values) ?? `${action.title}: done.`, "good");
    action.after?.(reply);
    reloadAll();
    return null;
  } catch (error) {
    return error instanceof Problem ? error : new Problem(0, "page_failed", String(error), "");
  }
}
