// Calls of the HTTP API: typed by the routes, and refused with the server's own words.

import type { Calls } from "../api/calls";
import { root } from "./address";

type Names<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Target = keyof Calls;
export type Options<T extends Target> = (Names<T> extends never ? { path?: undefined } : { path: Record<Names<T>, string> }) & {
  query?: { [K in keyof Calls[T]["query"]]?: Calls[T]["query"][K] | null | undefined };
  body?: Calls[T]["body"];
  signal?: AbortSignal;
};
export type Reply<T extends Target> = Calls[T]["reply"];

/** What the server said no with. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly request: string,
    readonly more: Record<string, unknown> = {},
  ) {
    super(detail);
  }

  get isForbidden(): boolean {
    return this.status === 403;
  }

  get isLost(): boolean {
    return this.status === 0 || this.status === 503;
  }
}

/** Called when the server asks who this is. */
export const unknown = { caller: (): void => undefined };

/** The address of a call below the prefix, without the origin. */
export function addressOf(target: string, options: { path?: Record<string, string>; query?: object } = {}): string {
  const path = target.slice(target.indexOf(" ") + 1).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(options.path?.[name] ?? ""));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(options.query ?? {})) if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  const text = query.toString();
  return `${root}${path.slice(1)}${text ? `?${text}` : ""}`;
}

export async function send(method: string, address: string, body?: unknown, signal?: AbortSignal, headers: HeadersInit = {}): Promise<Response> {
  const init: RequestInit = {
    method,
    credentials: "same-origin",
    cache: "no-store",
    headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...(method === "GET" ? {} : { "X-Holdfast-Console": "1" }), ...headers },
  };
  if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
  if (signal) init.signal = signal;
  let response: Response;
  try {
    response = await fetch(address, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "The server cannot be reached.", "");
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function problemOf(response: Response): Promise<Problem> {
  const request = response.headers.get("X-Request-Id") ?? "";
  if (response.status === 401) unknown.caller();
  try {
    const { code, detail, ...more } = (await response.json()) as Record<string, unknown>;
    return new Problem(response.status, String(code), String(detail), request, more);
  } catch {
    return new Problem(response.status, String(response.status), response.statusText || "The server gave no reason.", request);
  }
}

export async function call<T extends Target>(target: T, ...given: Names<T> extends never ? [Options<T>?] : [Options<T>]): Promise<Reply<T>> {
  const options = (given[0] ?? {}) as { path?: Record<string, string>; query?: object; body?: unknown; signal?: AbortSignal };
  const method = target.slice(0, target.indexOf(" "));
  const address = addressOf(target, options);
  const asked = early.get(address);
  early.delete(address);
  return (await (asked ?? reply(method, address, options.body, options.signal))) as Reply<T>;
}

async function reply(method: string, address: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
  const response = await send(method, address, body, signal);
  return response.status === 204 ? undefined : response.json();
}

/** Answers that the document asked for before this script ran; the first call of each takes it. */
const early = new Map<string, Promise<unknown>>();

/** Resolves when they are there. What was refused is asked again. */
export function readEarly(): Promise<unknown> {
  for (const { href } of document.querySelectorAll<HTMLLinkElement>("link[as=fetch]")) {
    const address = href.slice(location.origin.length);
    early.set(address, reply("GET", address));
    early.get(address)!.catch(() => early.delete(address));
  }
  return Promise.allSettled(early.values());
}

/** The text of a payload as it is stored, so that no digit is lost; null if there is none. */
export async function payload(address: string, signal?: AbortSignal): Promise<{ text: string; type: string; bytes: number } | null> {
  const response = await send("GET", address, undefined, signal);
  const data = await response.arrayBuffer();
  const type = response.headers.get("Content-Type") ?? "";
  return { text: new TextDecoder().decode(data), type, bytes: data.byteLength };
}

/** All pages of a list, up to a number of items. */
export async function all<I>(read: (cursor: string | undefined) => Promise<{ items: I[]; next_cursor?: string | null }>, most = 2_000): Promise<I[]> {
  const items: I[] = [];
  let cursor: string | undefined;
  do {
    const found = await read(cursor);
    items.push(...found.items);
    cursor = found.next_cursor ?? undefined;
  } while (cursor && items.length < most);
  return items;
}
