// Times and durations in words. Relative ones tick; absolute ones name their zone.

import { signal } from "@preact/signals";

import { zone } from "./choices";

export const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 1_000);

const STEPS: [string, number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
];

/** 1_250 → "1.3 s", 95_000 → "1m 35s". */
export function span(ms: number): string {
  const value = Math.max(0, ms);
  if (value < 1_000) return `${Math.round(value)} ms`;
  if (value < 10_000) return `${(value / 1_000).toFixed(1)} s`;
  if (value < 60_000) return `${Math.round(value / 1_000)} s`;
  const parts: string[] = [];
  let rest = value;
  for (const [unit, size] of STEPS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count || parts.length) parts.push(`${count}${unit}`);
    if (parts.length === 2) break;
  }
  return parts.filter((part, at) => at === 0 || !/^0/.test(part)).join(" ");
}

export function ago(at: string | number, from = now.value): string {
  const ms = from - (typeof at === "number" ? at : Date.parse(at));
  if (Math.abs(ms) < 1_500) return "now";
  return ms > 0 ? `${coarse(ms)} ago` : `in ${coarse(-ms)}`;
}

function coarse(ms: number): string {
  for (const [unit, size] of STEPS) if (ms >= size) return `${Math.floor(ms / size)}${unit}`;
  return "1s";
}

/** 2026-11-16 08:24:43.120 UTC */
export function exact(at: string | number): string {
  const date = new Date(at);
  const isUtc = zone.value === "utc";
  const shown = isUtc ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  const name = isUtc ? "UTC" : zoneName(date);
  return `${shown.toISOString().slice(0, 23).replace("T", " ").replace(".000", "")} ${name}`;
}

/** 08:24:43 */
export function clock(at: string | number, withMs = false): string {
  return exact(at).slice(11, 19) + (withMs ? (new Date(at).getMilliseconds() / 1000).toFixed(3).slice(1) : "");
}

/** Nov 16, 08:24 */
export function short(at: string | number): string {
  const options: Intl.DateTimeFormatOptions = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  if (zone.value === "utc") options.timeZone = "UTC";
  return new Intl.DateTimeFormat("en", options).format(new Date(at));
}

/** UTC, UTC+2 or UTC-3:30: browsers take long to find the names of zones. */
function zoneName(date: Date): string {
  const ahead = -date.getTimezoneOffset();
  const minutes = Math.abs(ahead) % 60;
  return ahead ? `UTC${ahead > 0 ? "+" : "-"}${Math.floor(Math.abs(ahead) / 60)}${minutes ? `:${minutes}` : ""}` : "UTC";
}

export function between(start: string | null, end: string | null): string {
  if (!start) return "";
  return span((end ? Date.parse(end) : now.value) - Date.parse(start));
}
