// Small parts: times, ids, copy, buttons, bars, tabs.

import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";

import { ask, type Action } from "../lib/action";
import { here, param } from "../lib/address";
import { may } from "../lib/session";
import { ago, exact, now, span } from "../lib/time";
import { middle } from "../lib/words";
import { Icon, type IconName } from "./icon";

/** A relative time; its title says it exactly, with its zone. */
export function Time({ at, as = "ago" }: { at: string | null | undefined; as?: "ago" | "exact" }): VNode | null {
  if (!at) return <span class="faint">–</span>;
  return <time datetime={at} title={exact(at)}>{as === "ago" ? ago(at, now.value) : exact(at)}</time>;
}

/** A duration; without an end it ticks. */
export function Span({ from, until }: { from: string | null; until?: string | null }): VNode {
  if (!from) return <span class="faint">–</span>;
  const end = until ? Date.parse(until) : now.value;
  return <span class="num">{span(end - Date.parse(from))}</span>;
}

/** Copy text, also over plain HTTP, where browsers have no clipboard for scripts. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    const parent = document.querySelector("dialog[open]") ?? document.body;
    parent.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }): VNode {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await copyText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1_200);
  };
  return (
    <button type="button" class="icon-button quiet" onClick={copy} aria-label={`${label}: ${middle(text, 40)}`} title={label}>
      <Icon name={isDone ? "check" : "copy"} />
    </button>
  );
}

/** The same from a terminal. */
export function Commands({ texts, children }: { texts: string[]; children?: ComponentChildren }): VNode {
  return (
    <details class="commands">
      <summary>The same from a terminal</summary>
      {texts.map((text) => (
        <div class="command" key={text.slice(0, 8)}>
          <pre>{text}</pre>
          <Copy text={text} label="Copy command" />
        </div>
      ))}
      {children}
    </details>
  );
}

/** An id: monospace, both ends visible, to be copied. */
export function Id({ id, href, most = 22, copy = false }: { id: string; href?: string | null; most?: number; copy?: boolean }): VNode {
  const text = middle(id, most);
  return (
    <span class="id">
      {href ? (
        <a href={href} title={id}>{text}</a>
      ) : <span title={id}>{text}</span>}
      {copy && <Copy text={id} label="Copy id" />}
    </span>
  );
}

export function Button({ action, tone = "", hideLabel = false }: { action: Action; tone?: string; hideLabel?: boolean }): VNode {
  const isAllowed = !action.role || may(action.role);
  return (
    <button
      type="button"
      class={`button ${tone} ${action.isDangerous ? "danger" : ""}`}
      disabled={!isAllowed}
      title={isAllowed ? action.title : `Needs the role ${action.role}.`}
      aria-label={hideLabel ? action.title : undefined}
      onClick={() => ask(action)}
    >
      {action.icon && <Icon name={action.icon as IconName} />}
      {!hideLabel && action.verb}
    </button>
  );
}

/** How much of a whole, as a bar and a number. */
export function Meter({ value, most, tone = "accent", label }: { value: number; most: number; tone?: string; label: string }): VNode {
  const share = most > 0 ? Math.min(1, value / most) : 0;
  return (
    <span class="meter" role="img" aria-label={label} title={label}>
      <span class={`meter-fill tone-${tone}`} style={{ width: `${share * 100}%` }} />
    </span>
  );
}

export interface Tab {
  id: string;
  label: string;
  count?: number | undefined;
}

/** Tabs whose choice is in the address. */
export function Tabs({ tabs, name = "tab" }: { tabs: Tab[]; name?: string }): VNode {
  const chosen = param(name) || tabs[0]!.id;
  return (
    <nav class="tabs" aria-label="Parts of this page">
      {tabs.map((tab, at) => (
        <a key={tab.id} href={here({ [name]: at ? tab.id : null })} aria-current={tab.id === chosen ? "page" : undefined}>
          {tab.label}
          {tab.count !== undefined && <span class="count">{tab.count}</span>}
        </a>
      ))}
    </nav>
  );
}

export function Facts({ rows }: { rows: ([string, ComponentChildren] | false | null)[] }): VNode {
  return (
    <dl class="facts">
      {rows.map(
        (row) =>
          row && (
            <div key={row[0]}>
              <dt>{row[0]}</dt>
              <dd>{row[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

export function Card({ title, extra, children, class: name = "" }: { title?: ComponentChildren; extra?: ComponentChildren; children: ComponentChildren; class?: string }): VNode {
  return (
    <section class={`card ${name}`}>
      {title && (
        <header>
          <h2>{title}</h2>
          {extra && <div class="extra">{extra}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

export function Tags({ tags }: { tags: Record<string, string> }): VNode | null {
  const entries = Object.entries(tags);
  if (!entries.length) return null;
  return (
    <>
      {entries.map(([name, value]) => (
        <span class="tag tone-plain" key={name}>
          {name}
          <b>{value}</b>
        </span>
      ))}
    </>
  );
}

/** Text of the server, with `commands` as code. */
export function Marked({ text }: { text: string }): VNode {
  return <>{text.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</>;
}
