// What a person has chosen, kept in this browser: theme, zone, keys, columns.

import { effect, signal, type Signal } from "@preact/signals";

/** A signal that the browser keeps. */
export function kept<T>(name: string, initial: T): Signal<T> {
  const key = `holdfast.console.${name}`;
  let value = initial;
  try {
    const text = localStorage.getItem(key);
    if (text !== null) value = JSON.parse(text) as T;
  } catch {
    // A browser that keeps nothing still shows everything.
  }
  const choice = signal(value);
  let isFirst = true;
  effect(() => {
    const text = JSON.stringify(choice.value);
    if (isFirst) isFirst = false;
    else
      try {
        localStorage.setItem(key, text);
      } catch {
        // As above.
      }
  });
  return choice;
}

export type Theme = "auto" | "light" | "dark";
export type Zone = "local" | "utc";

export const theme = kept<Theme>("theme", "auto");
export const zone = kept<Zone>("zone", "local");
/** Single keys can be turned off, as WCAG 2.1.4 asks. */
export const singleKeys = kept("keys", true);
export const isNarrow = kept("sidebar", false);

effect(() => {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});
