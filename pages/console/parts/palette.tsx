// Find: pages, runs that were seen lately, and whatever has the id that is pasted.

import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { go, pageOf, to } from "../lib/address";
import { kept } from "../lib/choices";
import { find } from "../lib/find";
import { phrase } from "../lib/words";
import { Icon, type IconName } from "./icon";
import { ENTRIES } from "./shell";

export const isPaletteOpen = signal(false);
const recent = kept<{ title: string; href: string }[]>("recent", []);

/** Remember what was looked at. */
export function seen(title: string, href: string): void {
  if (recent.peek()[0]?.href === href) return;
  recent.value = [{ title, href }, ...recent.peek().filter((one) => one.href !== href)].slice(0, 8);
}

interface Hit {
  title: string;
  note: string;
  icon: IconName;
  href: string;
}

const ICONS: Record<string, IconName> = { execution: "runs", graph: "graph", waitpoint: "inbox", session: "session", worker: "worker", key: "key", queue: "queue", message: "queue", schedule: "schedule", deployment: "deployment", request: "audit" };

export function Palette(): VNode | null {
  return isPaletteOpen.value ? <Open /> : null;
}

function Open(): VNode {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [found, setFound] = useState<Hit[]>([]);
  /** Enter may come before what it opens. */
  const waits = useRef<"" | "search" | "open">("");
  const dialog = useRef<HTMLDialogElement>(null);
  const close = (): void => void (isPaletteOpen.value = false);
  useLayoutEffect(() => dialog.current!.showModal(), []);
  useEffect(() => {
    setAt(0);
    setFound([]);
    if (text.trim().length < 2) return;
    const control = new AbortController();
    const timer = setTimeout(async () => {
      // A text that is no id finds nothing; pages are found without the server.
      const items = await find(text, control.signal).catch(() => []);
      if (control.signal.aborted) return;
      const hits = items.map((item) => ({ title: item.title === item.id ? item.id : `${item.title} ${item.id}`, note: phrase(item.noun), icon: ICONS[item.noun] ?? "dot", href: pageOf(item.noun, item.within ?? item.id) ?? "" }));
      if (waits.current === "open") open([...hits, ...pagesFor(text)][0]);
      waits.current = "";
      setFound(hits);
    }, 120);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text]);
  const hits = [...found, ...pagesFor(text), ...(text ? [] : recent.value.map((one) => ({ ...one, note: "Recent", icon: "clock" as const })))];
  const open = (hit: Hit | undefined): void => {
    if (!hit) return;
    close();
    go(hit.href);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setAt(Math.min(hits.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter" && waits.current) waits.current = "open";
    else if (event.key === "Enter") open(hits[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Find" onClose={close} onClick={(event) => event.target === dialog.current && close()}>
      <div class="palette-input">
        <Icon name="search" />
        <input
          autofocus
          value={text}
          placeholder="Page, id of a run, session, queue, worker, request …"
          aria-label="Find a page or an id"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-hits"
          aria-activedescendant={hits[at] ? `hit-${at}` : undefined}
          onInput={({ currentTarget: { value } }) => {
            waits.current = value.trim().length < 2 ? "" : "search";
            setText(value);
          }}
          onKeyDown={key}
          spellcheck={false}
        />
        <kbd>Esc</kbd>
      </div>
      <ul id="palette-hits" role="listbox" aria-label="Found">
        {hits.map((hit, index) => (
          <li key={hit.href} id={`hit-${index}`} role="option" aria-selected={index === at} onClick={() => open(hit)} onMouseMove={() => setAt(index)}>
            <Icon name={hit.icon} />
            <span class="clip">{hit.title}</span>
            <span class="faint">{hit.note}</span>
          </li>
        ))}
      </ul>
      {!hits.length && <p class="palette-none">Nothing has this name or id.</p>}
    </dialog>
  );
}

function pagesFor(text: string): Hit[] {
  const wanted = text.trim().toLowerCase();
  return ENTRIES.filter((entry) => entry.label.toLowerCase().includes(wanted)).map((entry) => ({
    title: entry.label,
    note: entry.key ? `Page · g ${entry.key}` : "Page",
    icon: entry.icon,
    href: to(entry.page ? [entry.page] : []),
  }));
}
