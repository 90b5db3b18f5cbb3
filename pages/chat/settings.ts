// How the chat looks, from the fragment of its address: it never reaches a server.

import { HEX, inkOn } from "../design/colour";
import { baseOf, known, speak, words } from "./words";

export interface Settings {
  title: string;
  greeting: string;
  placeholder: string;
  theme: "light" | "dark" | "auto";
  accent: string | null;
  radius: string | null;
  font: string | null;
  lang: string;
  dir: "ltr" | "rtl";
  /** The origin of the page that shows the chat in a frame. */
  host: string | null;
}

const RTL = new Set(["ar", "fa", "he", "ur", "yi", "ps", "sd"]);

export function readSettings(fragment: string, path: string): Settings {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const text = (name: string, most: number): string | null => given.get(name)?.slice(0, most) || null;
  const matching = (name: string, form: RegExp): string | null => {
    const value = given.get(name);
    return value !== null && form.test(value) ? value : null;
  };
  const lang = matching("lang", /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/) ?? known(navigator.languages);
  speak(lang);
  const dir = matching("dir", /^(ltr|rtl)$/) ?? (RTL.has(baseOf(lang)) ? "rtl" : "ltr");
  return {
    title: text("title", 80) ?? titleOf(path),
    greeting: text("greeting", 300) ?? words.begin,
    placeholder: text("placeholder", 80) ?? words.write,
    theme: (matching("theme", /^(light|dark)$/) as "light" | "dark" | null) ?? "auto",
    accent: matching("accent", HEX),
    radius: matching("radius", /^\d{1,2}$/),
    font: matching("font", /^[A-Za-z0-9 ,"'-]{1,120}$/),
    lang,
    dir: dir as "ltr" | "rtl",
    host: matching("host", /^https?:\/\/[^/\s]+$/),
  };
}

/** The name of the deployment, as a title: `order-support` is "Order support". */
function titleOf(path: string): string {
  const name = decodeURIComponent(path.split("/").at(-1) ?? "").replace(/[-_.:]+/g, " ").trim();
  return name ? name[0]!.toUpperCase() + name.slice(1) : "Chat";
}

export function applySettings(settings: Settings, root: HTMLElement): void {
  root.lang = settings.lang;
  root.dir = settings.dir;
  if (settings.theme !== "auto") root.dataset.theme = settings.theme;
  if (settings.accent) {
    root.style.setProperty("--accent", settings.accent);
    root.style.setProperty("--on-accent", inkOn(settings.accent));
  }
  if (settings.radius) root.style.setProperty("--radius", `${settings.radius}px`);
  if (settings.font) root.style.setProperty("--font", settings.font);
  document.title = settings.title;
}
