// Reads of the API that a page shows, kept fresh while it is visible.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { Problem } from "./call";
import { listen, link, paused, type Change } from "./live";

export interface Loaded<T> {
  data: T | undefined;
  /** Why the last read failed; with data, the data is stale. */
  problem: Problem | undefined;
  isLoading: boolean;
  /** When the data was read. */
  at: number;
  reload(): void;
}

interface Options {
  /** Which changes of the feed matter; none by default. */
  when?: (change: Change) => boolean;
  /** How often to read what has no feed, in ms. */
  every?: number;
}

/** A busy feed makes a page read at most this often. */
const LEAST_MS = 1_000;
/** What has a feed is read this often while there is none. */
const WITHOUT_FEED_MS = 5_000;

export function useLoad<T>(read: (signal: AbortSignal) => Promise<T>, inputs: unknown[], options: Options = {}): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>(EMPTY);
  const reading = useRef<AbortController | null>(null);
  const latest = useRef({ read, options });
  latest.current = { read, options };
  const reload = useRef(() => undefined as void);

  // Not after the first paint: the server can work meanwhile.
  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let started = 0;
    setState(EMPTY);
    const start = async (): Promise<void> => {
      started = Date.now();
      reading.current?.abort();
      const control = new AbortController();
      reading.current = control;
      try {
        const data = await latest.current.read(control.signal);
        if (!control.signal.aborted) setState({ data, problem: undefined, isLoading: false, at: Date.now() });
      } catch (error) {
        if (control.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, "page_failed", String(error), "");
        setState((before) => ({ ...before, problem, isLoading: false }));
      }
      reading.current = reading.current === control ? null : reading.current;
    };
    const later = (): void => {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          void start();
        },
        Math.max(0, started + LEAST_MS - Date.now()),
      );
    };
    reload.current = () => void start();
    void start();
    const stop = listen((changes) => {
      const { when } = latest.current.options;
      if (changes.some((change) => change.type === "all" || when?.(change))) later();
    });
    const { every, when } = latest.current.options;
    const pace = every ?? (when ? WITHOUT_FEED_MS : 0);
    const poll = pace
      ? setInterval(() => {
          const isFed = !every && link.value === "live";
          if (document.visibilityState === "visible" && !paused.value && !isFed && !reading.current) void start();
        }, pace)
      : undefined;
    return () => {
      stop();
      clearTimeout(timer);
      clearInterval(poll);
      reading.current?.abort();
    };
  }, inputs);

  return { ...state, reload: () => reload.current() };
}

const EMPTY = { data: undefined, problem: undefined, isLoading: true, at: 0 };

/** Matches changes of these types. */
export function of(...types: string[]): (change: Change) => boolean {
  return (change) => types.includes(change.type);
}
