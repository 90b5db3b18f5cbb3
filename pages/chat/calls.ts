// Calls of the server. Addresses are relative to the page, so any path prefix works.

import type { FileRef, Line, Message, Visit } from "./types";

export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly retryAfter: number,
  ) {
    super(detail);
  }

  /** Whether the same call may succeed later. */
  get passes(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}

/** `support` of /prefix/chat/local/support: calls are below it. */
const base = location.pathname.split("/").at(-1)!;

export async function call<T>(what: string, body?: unknown): Promise<T> {
  const init: RequestInit = { credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    init.method = "POST";
    init.headers = { "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  const response = await fetch(`${base}/${what}`, init);
  if (!response.ok) throw await refusalOf(response);
  return (await response.json()) as T;
}

export const begin = (): Promise<Visit> => call("session", {});
export const restart = (): Promise<Visit> => call("restart", {});
export const say = ({ files, ...message }: Message): Promise<unknown> =>
  call("messages", files ? { ...message, files: files.map((file) => file.id) } : message);
export const fileAddress = (id: string): string => `${base}/files/${id}`;
export const earlier = (before: number): Promise<{ items: Line[]; more: boolean }> =>
  call(`lines?before=${before}`);

export async function openEvents(after: number, signal: AbortSignal): Promise<Response> {
  const response = await fetch(`${base}/events?after=${after}`, {
    credentials: "same-origin",
    cache: "no-store",
    headers: { Accept: "text/event-stream" },
    signal,
  });
  if (!response.ok) throw await refusalOf(response);
  return response;
}

/** Upload a file. `fetch` does not tell how much was sent. */
export function upload(file: File, stop: AbortSignal, progress: (done: number) => void): Promise<FileRef> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `${base}/files?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => progress(loaded / (total || 1));
    request.onload = () => {
      if (request.status === 200) resolve(JSON.parse(request.responseText) as FileRef);
      else reject(refusal(request.status, request.responseText, request.getResponseHeader("Retry-After")));
    };
    request.onerror = request.onabort = () => reject(new TypeError("the upload was cut"));
    stop.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

async function refusalOf(response: Response): Promise<Refusal> {
  return refusal(response.status, await response.text().catch(() => ""), response.headers.get("Retry-After"));
}

function refusal(status: number, text: string, after: string | null): Refusal {
  const wait = Number(after) || 0;
  try {
    const problem = JSON.parse(text);
    return new Refusal(status, String(problem.code), String(problem.detail), wait);
  } catch {
    return new Refusal(status, "unknown", text, wait);
  }
}

export interface ServerEvent {
  event: string;
  data: string;
}

/** Read server-sent events until the connection ends; `heard` is called with every byte. */
export async function* readEvents(response: Response, heard: () => void): AsyncGenerator<ServerEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const fields = new Map(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
      if (fields.has("event")) yield { event: fields.get("event")!, data: fields.get("data") ?? "" };
    }
  }
}
