// Where the console is, and where in it. Every address is a real link, below any path prefix.

import { computed, signal } from "@preact/signals";

/** The path below which Holdfast is served: the script is at ROOT/static/console.js. */
export const root = new URL("../", import.meta.url).pathname;
const base = `${root}console/`;

export interface Place {
  /** The decoded segments after /console/. */
  path: string[];
  query: URLSearchParams;
}

export type Query = Record<string, string | null | undefined>;

export const place = signal<Place>(read());
export const page = computed(() => place.value.path[0] ?? "");

function read(): Place {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : "";
  return {
    path: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(location.search),
  };
}

/** The address of a page; the tenant that is chosen stays chosen. */
export function to(path: string[], query: Query = {}): string {
  const chosen = new URLSearchParams();
  const tenant = place.value.query.get("tenant");
  if (tenant && !("tenant" in query)) chosen.set("tenant", tenant);
  for (const [name, value] of Object.entries(query)) if (value) chosen.set(name, value);
  const text = chosen.toString();
  return `${base}${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** The address of this page with other parameters; null removes one. */
export function here(changes: Query): string {
  const query: Query = Object.fromEntries(place.value.query);
  return to(place.value.path, { ...query, ...changes });
}

export function go(address: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, "", address);
  else {
    history.pushState(null, "", address);
    scrollTo(0, 0);
  }
  place.value = read();
}

export function param(name: string): string {
  return place.value.query.get(name) ?? "";
}

/** Follow links of the console without loading the page again. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    place.value = read();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    // Also links inside pictures, which are no HTML elements.
    const link = (event.target as Element).closest?.("a[href]");
    if (!link || link.hasAttribute("target") || link.hasAttribute("download")) return;
    const address = new URL(link.getAttribute("href")!, location.href);
    if (address.origin !== location.origin || !address.pathname.startsWith(base) || link.getAttribute("href")!.startsWith("#")) return;
    event.preventDefault();
    go(address.pathname + address.search);
  });
}

/** The page of a thing that the server names. */
export function pageOf(noun: string, id: string): string | null {
  const path = PAGES[noun];
  return path ? to(id && !path[1] ? [path[0]!, id] : path.slice(0, 1), path[1] && id ? { [path[1]]: id } : {}) : null;
}

/** The page of each noun, or the list and the parameter that selects in it. */
const PAGES: Record<string, string[]> = {
  execution: ["runs"],
  graph: ["graphs"],
  waitpoint: ["inbox", "id"],
  session: ["sessions"],
  worker: ["workers", "id"],
  workers: ["workers", ""],
  lane: ["workers", "lane"],
  queue: ["queues"],
  message: ["queues"],
  schedule: ["schedules", "id"],
  quota: ["limits", "id"],
  budget: ["limits", "id"],
  deployment: ["deployments"],
  key: ["keys", "id"],
  request: ["audit", "request"],
  tenant: ["tenants"],
  task: ["runs", "kind"],
};
