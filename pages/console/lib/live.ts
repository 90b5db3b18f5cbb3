// The live connection: one for each browser, whatever the number of tabs.
//
// Browsers allow six connections to a server. The tab that holds a lock reads the feed and relays it
// to the others; a tab that is hidden gives the lock to one that is visible.

import { effect, signal } from "@preact/signals";

import { addressOf, Problem, send } from "./call";
import { me, oneTenant, scope } from "./session";

const PAUSES_MS = [250, 1_000, 2_000, 5_000];
/** The server writes at least every 15 s; a connection that is silent for longer is dead. */
const SILENCE_MS = 40_000;
const HIDDEN_MS = 5_000;
/** A change is handed on at once; after many, the next wait for each other: 500 in a second draw the page four times. */
const FLUSH_MS = 250;
const CHANGE_MS = 10;
const POLL_MS = 5_000;
const TYPES = "execution,session,waitpoint,deployment,queue,worker";

export interface Change {
  /** execution, session, waitpoint, …; `all` means that everything may have changed. */
  type: string;
  data: Record<string, unknown>;
  id?: string;
}

type Link = "connecting" | "live" | "polling" | "lost";
type Word = { changes: Change[] } | { link: Link };
type Listener = (changes: Change[]) => void;

export const link = signal<Link>("connecting");
export const lostAt = signal<number | null>(null);
/** A person has stopped the page from changing. */
export const paused = signal(false);
/** How many changes wait while it is paused. */
export const held = signal(0);

const listeners = new Set<Listener>();
let waiting: Change[] = [];
let flushing: ReturnType<typeof setTimeout> | undefined;
let quietUntil = 0;
let last: string | undefined;

export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Everything may have changed: read it again. */
export function reloadAll(): void {
  for (const listener of [...listeners]) listener([{ type: "all", data: {} }]);
}

export function pause(on: boolean): void {
  paused.value = on;
  if (!on && held.value) {
    held.value = 0;
    reloadAll();
  }
}

function hear(changes: Change[]): void {
  for (const change of changes) if (change.id) last = change.id;
  if (paused.value) {
    held.value += changes.length;
    return;
  }
  waiting.push(...changes);
  flushing ??= setTimeout(flush, Math.max(0, quietUntil - Date.now()));
}

function flush(): void {
  flushing = undefined;
  const changes = waiting;
  quietUntil = Date.now() + Math.min(FLUSH_MS, CHANGE_MS * changes.length);
  waiting = [];
  for (const listener of [...listeners]) listener(changes);
}

function linked(state: Link): void {
  // Also at first: a page may show what was read before.
  if (link.value !== state && state !== "lost") hear([{ type: "all", data: {} }]);
  link.value = state;
  lostAt.value = state === "lost" ? (lostAt.value ?? Date.now()) : null;
}

/** Follow the tenant that is chosen, for as long as the page lives. */
export function follow(): void {
  let stop: AbortController | undefined;
  let followed: string | null | undefined;
  effect(() => {
    const of = me.value ? oneTenant() : undefined;
    if (of === followed) return;
    followed = of;
    stop?.abort();
    if (of === undefined) return;
    stop = new AbortController();
    last = undefined;
    void (of === null ? poll(stop.signal) : run(of, stop.signal));
  });
}

async function poll(stopped: AbortSignal): Promise<void> {
  linked("polling");
  while (!stopped.aborted) {
    await rest(POLL_MS, stopped);
    if (isHidden() || stopped.aborted) continue;
    try {
      await send("GET", addressOf("GET /readyz"), undefined, stopped);
      linked("polling");
      if (!paused.value) reloadAll();
    } catch {
      if (!stopped.aborted) linked("lost");
    }
  }
}

async function run(of: string, stopped: AbortSignal): Promise<void> {
  const name = `holdfast.console:${scope.value ?? ""}:${of}`;
  const others = new BroadcastChannel(name);
  others.onmessage = ({ data }: MessageEvent<Word>) => {
    if ("changes" in data) hear(data.changes);
    else linked(data.link);
  };
  let failures = 0;
  while (!stopped.aborted) {
    await visible(stopped);
    const hidden = untilHidden();
    const signal = AbortSignal.any([stopped, hidden.signal]);
    try {
      await withLock(name, signal, async () => {
        await read(of, signal, others, () => (failures = 0));
      });
    } catch (error) {
      if (error instanceof Problem && error.status === 401) break;
    }
    hidden.done();
    if (!signal.aborted) {
      linked("lost");
      others.postMessage({ link: "lost" } satisfies Word);
      await rest(PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)]!, stopped);
    }
  }
  others.close();
}

/** Pages without TLS have no locks: then each visible tab reads for itself. */
async function withLock(name: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  if (!navigator.locks) return work();
  const isFree = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await work();
    return lock !== null;
  });
  if (isFree) return;
  // Another tab reads; what it read before this one listened has to be read from the server.
  linked("live");
  await navigator.locks.request(name, { signal }, work);
}

async function read(of: string, signal: AbortSignal, others: BroadcastChannel, opened: () => void): Promise<void> {
  const silence = new AbortController();
  let watch = setTimeout(() => silence.abort(), SILENCE_MS);
  const both = AbortSignal.any([signal, silence.signal]);
  const tell = (word: Word): void => others.postMessage(word);
  addEventListener("offline", () => silence.abort(), { signal: both });
  const query = { tenant: me.value?.tenant ? undefined : of, after: last, types: TYPES };
  try {
    const response = await send("GET", addressOf("GET /v1/events", { query }), undefined, both, { Accept: "text/event-stream" });
    opened();
    linked("live");
    tell({ link: "live" });
    for await (const change of events(response)) {
      clearTimeout(watch);
      watch = setTimeout(() => silence.abort(), SILENCE_MS);
      if (!change) continue;
      hear([change]);
      tell({ changes: [change] });
    }
  } finally {
    clearTimeout(watch);
    silence.abort();
  }
}

/** The events of a connection; null for a sign of life. */
async function* events(response: Response): AsyncGenerator<Change | null> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    yield null;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const change = changeOf(text.slice(0, end));
      text = text.slice(end + 2);
      if (change) yield change;
    }
  }
}

function changeOf(block: string): Change | null {
  const fields = new Map(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
  const type = fields.get("event");
  if (!type || type === "open") return null;
  const data = JSON.parse(fields.get("data") || "{}") as Record<string, unknown>;
  const id = fields.get("id");
  return { type: type === "gap" ? "all" : type, data, ...(id ? { id } : {}) };
}

function isHidden(): boolean {
  return document.visibilityState === "hidden";
}

function visible(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (!isHidden() || stopped.aborted) return resolve();
    const look = (): void => {
      if (!isHidden() || stopped.aborted) {
        document.removeEventListener("visibilitychange", look);
        resolve();
      }
    };
    document.addEventListener("visibilitychange", look);
    stopped.addEventListener("abort", look);
  });
}

function untilHidden(): { signal: AbortSignal; done: () => void } {
  const control = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (isHidden()) timer = setTimeout(() => control.abort(), HIDDEN_MS);
  };
  document.addEventListener("visibilitychange", look);
  look();
  const done = (): void => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
  return { signal: control.signal, done };
}

function rest(ms: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    stopped.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
