// The rows of the list of runs: loaded as one scrolls, and changed in place by the feed.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { ExecutionsTotalView as Total, ListedView as Row } from "../api/schemas";
import { call, Problem } from "./call";
import { listen, link, paused, type Change } from "./live";
import { scope } from "./session";

export type { Row };

export interface Runs {
  rows: Row[];
  total: Total | undefined;
  problem: Problem | undefined;
  isLoading: boolean;
  at: number;
  /** Changes that are not shown yet, because a person reads. */
  fresh: number;
  more: (() => void) | undefined;
  reload(): void;
}

const FIRST = 60;
const NEXT = 500;
const LEAST_MS = 1_000;
const POLL_MS = 5_000;
/** A scan may return few rows and a cursor; this many such pages are read in a row. */
const MOST_SHORT_PAGES = 20;

export function useRuns(query: Record<string, string>, isBusy: boolean): Runs {
  const [state, setState] = useState({ rows: [] as Row[], total: undefined as Total | undefined, problem: undefined as Problem | undefined, isLoading: true, at: 0, cursor: null as string | null, fresh: 0 });
  const busy = useRef(isBusy);
  busy.current = isBusy;
  const reading = useRef<AbortController | null>(null);
  const reload = useRef((): void => undefined);
  const more = useRef((): void => undefined);
  const key = JSON.stringify([query, scope.value]);

  // Not after the first paint: the server can work meanwhile.
  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let started = 0;
    const read = async (cursor: string | null, limit: number, signal: AbortSignal): Promise<{ items: Row[]; next: string | null; total: Total | undefined }> => {
      const items: Row[] = [];
      let total: Total | undefined;
      let next = cursor;
      for (let pages = 0; pages < MOST_SHORT_PAGES; pages++) {
        const found = await call("GET /v1/executions", { query: { ...query, tenant: scope.value, limit, why: true, ...(cursor ? {} : { total: true }), ...(next ? { cursor: next } : {}) }, signal });
        items.push(...found.items);
        total ??= found.total;
        next = found.next_cursor;
        if (!next || items.length >= Math.min(limit, 50)) break;
      }
      return { items, next, total };
    };
    /** Read the first rows, or those after a cursor. */
    const load = async (cursor: string | null): Promise<void> => {
      if (!cursor) started = Date.now();
      reading.current?.abort();
      const control = new AbortController();
      reading.current = control;
      try {
        const { items, next, total } = await read(cursor, cursor ? NEXT : FIRST, control.signal);
        if (control.signal.aborted) return;
        if (cursor) setState((before) => ({ ...before, rows: [...before.rows, ...without(items, before.rows)], cursor: next }));
        else setState((before) => ({ ...before, ...merged(before.rows, items, before.cursor, next), total, problem: undefined, isLoading: false, at: Date.now(), fresh: 0 }));
      } catch (error) {
        // The next scroll tries again to read what follows.
        if (!cursor && !control.signal.aborted) setState((before) => ({ ...before, isLoading: false, problem: error instanceof Problem ? error : new Problem(0, "page_failed", String(error), "") }));
      }
      if (reading.current === control) reading.current = null;
    };
    const later = (): void => {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          if (!busy.current) void load(null);
        },
        Math.max(0, started + LEAST_MS - Date.now()),
      );
    };
    const heard = (changes: Change[]): void => {
      if (changes.some((change) => change.type === "all")) return later();
      const news = changes.filter((change) => change.type === "execution");
      if (!news.length) return;
      setState((before) => changed(before, news));
      if (!busy.current) later();
    };
    reload.current = () => void load(null);
    more.current = () => {
      if (!reading.current) setState((before) => (before.cursor && void load(before.cursor), before));
    };
    setState((before) => ({ ...before, rows: [], total: undefined, isLoading: true, cursor: null, fresh: 0 }));
    void load(null);
    const stop = listen(heard);
    const poll = setInterval(() => {
      if (link.value !== "live" && document.visibilityState === "visible" && !paused.value && !busy.current && !reading.current) void load(null);
    }, POLL_MS);
    return () => {
      stop();
      clearTimeout(timer);
      clearInterval(poll);
      reading.current?.abort();
      reading.current = null;
    };
  }, [key]);
  useEffect(() => {
    if (!isBusy && state.fresh) reload.current();
  }, [isBusy]);

  return { ...state, more: state.cursor ? more.current : undefined, reload: () => reload.current() };
}

/** New first rows, above those that were loaded further down. */
function merged(before: Row[], first: Row[], cursor: string | null, next: string | null): { rows: Row[]; cursor: string | null } {
  if (before.length <= first.length || !next) return { rows: first, cursor: next };
  return { rows: [...first, ...without(before, first)], cursor };
}

/** Rows that are not among others. */
function without(rows: Row[], others: Row[]): Row[] {
  const known = new Set(others.map((row) => row.id));
  return rows.filter((row) => !known.has(row.id));
}

function changed<S extends { rows: Row[]; fresh: number }>(before: S, changes: Change[]): S {
  const latest = new Map(changes.map((change) => [String(change.data.execution), change.data]));
  let fresh = before.fresh;
  let hits = 0;
  const rows = before.rows.map((row) => {
    const news = latest.get(row.id);
    if (!news) return row;
    hits += 1;
    const state = String(news.state);
    return row.state === state ? row : { ...row, state, attempts: Number(news.attempts ?? row.attempts), why: null };
  });
  fresh += latest.size - hits;
  return { ...before, rows: hits ? rows : before.rows, fresh };
}
