// Keys: what each does where, so that one handler serves them and the help lists them.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { singleKeys } from "./choices";

export interface Binding {
  keys: string;
  about: string;
  run(): void;
}

const layers: { current: Binding[] }[] = [];
let prefix = "";
let prefixTimer: ReturnType<typeof setTimeout> | undefined;

export function bindings(): Binding[] {
  return layers.flatMap((layer) => layer.current);
}

/** Bind keys before a part of the page can be seen, until it has gone; later ones win, and what was drawn last counts. */
export function useKeys(bound: Binding[]): void {
  const layer = useRef(bound);
  layer.current = bound;
  useLayoutEffect(() => {
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

/** The place of a row that keys have chosen: it stays on its row when rows come, go or change. */
export function useCursor<T>(rows: T[], keyOf: (row: T) => string): [number, (by: number) => number] {
  const chosen = useRef<{ key: string; at: number } | null>(null);
  const [, draw] = useState(0);
  const found = chosen.current ? rows.findIndex((row) => keyOf(row) === chosen.current!.key) : -1;
  const at = chosen.current && found < 0 ? Math.min(chosen.current.at, rows.length - 1) : found;
  const move = (by: number): number => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by));
    if (rows[next]) chosen.current = { key: keyOf(rows[next]), at: next };
    draw((times) => times + 1);
    return next;
  };
  return [at, move];
}

export function handleKeys(): void {
  document.addEventListener("keydown", (event) => {
    const chord = `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.key}`;
    const isSingle = !chord.startsWith("Ctrl+");
    if (event.key === "Enter" && (event.target as Element).closest?.("a, button, summary")) return;
    if (event.altKey || (isSingle && (isTyping(event.target) || !singleKeys.value || document.querySelector("dialog[open]")))) return;
    const keys = prefix ? `${prefix} ${chord}` : chord;
    prefix = "";
    const binding = [...bindings()].reverse().find((one) => one.keys === keys);
    if (binding) {
      event.preventDefault();
      binding.run();
    } else if (isSingle && bindings().some((one) => one.keys.startsWith(`${chord} `))) {
      prefix = chord;
      clearTimeout(prefixTimer);
      prefixTimer = setTimeout(() => (prefix = ""), 1_200);
    }
  });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), textarea, select"));
}
