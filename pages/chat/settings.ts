// How the chat looks, from the fragment of its address: it never reaches a server.

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
    accent: matching("accent", /^#([0-9a-f]{3}|[0-9a-f]{6})$/i),
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

/** Black or white, whichever is easier to read: at least 4.58:1 on any colour. */
export function inkOn(colour: string): string {
  const digits = colour.length === 4 ? colour.slice(1).replace(/./g, "$&$&") : colour.slice(1);
  const [red, green, blue] = [0, 2, 4].map((at) => {
    const value = parseInt(digits.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return luminance > 0.179 ? "#000000" : "#ffffff";
}
