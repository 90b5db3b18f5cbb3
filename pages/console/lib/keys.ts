// Keys: what each does where, so that one handler serves them and the help lists them.

import { useLayoutEffect, useRef } from "preact/hooks";

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

/** Bind keys while a part of the page is shown, from the moment it can be seen; later ones win, and what was drawn last counts. */
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
