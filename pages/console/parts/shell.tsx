// The frame around every page: sidebar, top bar, banners.

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import { page, place, to } from "../lib/address";
import { isNarrow, theme, type Theme } from "../lib/choices";
import { held, link, lostAt, pause, paused } from "../lib/live";
import { useKeys } from "../lib/keys";
import { chooseTenant, logOut, me, tenant } from "../lib/session";
import { span, now } from "../lib/time";
import { count } from "../lib/words";
import { Marked } from "./basics";
import { Icon, type IconName } from "./icon";
import { inboxCount } from "./badges";
import { isHelpOpen } from "./help";
import { isPaletteOpen } from "./palette";

interface Entry {
  page: string;
  label: string;
  icon: IconName;
  key?: string;
}

const GROUPS: [string, Entry[]][] = [
  [
    "",
    [
      { page: "", label: "Overview", icon: "overview", key: "o" },
      { page: "runs", label: "Runs", icon: "runs", key: "r" },
      { page: "inbox", label: "Inbox", icon: "inbox", key: "i" },
      { page: "causes", label: "Failures", icon: "cause", key: "f" },
      { page: "graphs", label: "Graphs", icon: "graph", key: "g" },
    ],
  ],
  [
    "Conversations",
    [
      { page: "sessions", label: "Sessions", icon: "session", key: "s" },
      { page: "deployments", label: "Deployments", icon: "deployment", key: "d" },
    ],
  ],
  [
    "Capacity",
    [
      { page: "workers", label: "Workers and lanes", icon: "worker", key: "w" },
      { page: "queues", label: "Queues", icon: "queue", key: "q" },
      { page: "schedules", label: "Schedules", icon: "schedule", key: "c" },
      { page: "limits", label: "Budgets and quotas", icon: "limit", key: "b" },
    ],
  ],
  [
    "System",
    [
      { page: "archive", label: "Archive", icon: "archive" },
      { page: "leases", label: "Writer leases", icon: "lease" },
      { page: "keys", label: "API keys", icon: "key" },
      { page: "audit", label: "Audit log", icon: "audit" },
      { page: "settings", label: "Settings", icon: "settings" },
    ],
  ],
];

export const ENTRIES: Entry[] = GROUPS.flatMap(([, entries]) => entries);

export function Shell({ children }: { children: ComponentChildren }): VNode {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [place.value]);
  useKeys(ENTRIES.filter((entry) => entry.key).map((entry) => ({ keys: `g ${entry.key}`, about: `Go to ${entry.label}`, run: () => document.getElementById(`nav-${entry.page}`)?.click() })));
  return (
    <div class={`shell ${isOpen ? "menu-open" : ""} ${isNarrow.value ? "narrow" : ""}`}>
      <a class="skip" href="#main">Skip to the content</a>
      <Sidebar />
      <button type="button" class="scrim" aria-label="Close the menu" tabIndex={-1} onClick={() => setOpen(false)} />
      <div class="stage">
        <TopBar openMenu={() => setOpen(!isOpen)} isOpen={isOpen} />
        <Banners />
        <main id="main" tabIndex={-1}>{children}</main>
      </div>
    </div>
  );
}

function Sidebar(): VNode {
  return (
    <nav class="sidebar" aria-label="Pages" id="sidebar">
      <a class="brand" href={to([])} aria-label="Holdfast, overview">
        <svg viewBox="0 0 24 24" aria-hidden="true" class="mark">
          <path d="M12 2.500v6M12 15.500v6M5 7.500c0 5 14 4 14 9M19 7.500c0 5-14 4-14 9" />
        </svg>
        <span>Holdfast</span>
      </a>
      <div class="nav-groups">
        {GROUPS.map(([name, entries]) => (
          <div class="nav-group" key={name}>
            {name && <h2>{name}</h2>}
            {entries.map((entry) => (
              <a key={entry.page} id={`nav-${entry.page}`} href={to(entry.page ? [entry.page] : [])} aria-current={page.value === entry.page ? "page" : undefined} title={entry.label}>
                <Icon name={entry.icon} />
                <span>{entry.label}</span>
                {entry.page === "inbox" && inboxCount.value > 0 && <b class="badge">{count(inboxCount.value)}</b>}
              </a>
            ))}
          </div>
        ))}
      </div>
      <Account />
    </nav>
  );
}

function Account(): VNode {
  const caller = me.value;
  const tenants = caller?.tenants ?? [];
  return (
    <div class="account">
      {caller && !caller.key_tenant && tenants.length > 0 && (
        <label>
          <span class="hidden">Tenant</span>
          <select value={tenant.value ?? ""} onChange={(event) => chooseTenant(event.currentTarget.value || null)}>
            <option value="">All tenants</option>
            {tenants.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
      )}
      {tenant.value && <a class="link small" href={to(["tenants", tenant.value])}>About {tenant.value}</a>}
      <div class="account-row">
        <Icon name="person" />
        <span class="clip" title={caller?.roles.join(", ")}>{caller?.name || caller?.key || (caller?.access === "open" ? "open access" : "…")}</span>
        {caller?.session_expires_at && <button type="button" class="link" onClick={() => void logOut()}>Log out</button>}
      </div>
    </div>
  );
}

const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

function TopBar({ openMenu, isOpen }: { openMenu(): void; isOpen: boolean }): VNode {
  return (
    <header class="topbar">
      <button type="button" class="icon-button menu" aria-label="Menu" aria-expanded={isOpen} aria-controls="sidebar" onClick={openMenu}>
        <Icon name="menu" />
      </button>
      <button type="button" class="find" onClick={() => (isPaletteOpen.value = true)}>
        <Icon name="search" />
        <span>Find a page or paste an id</span>
        <kbd>/</kbd>
      </button>
      <div class="tools">
        <Live />
        <button type="button" class="icon-button" aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`} onClick={() => (theme.value = NEXT[theme.value])}>
          <Icon name={theme.value === "auto" ? "auto" : theme.value === "light" ? "sun" : "moon"} />
        </button>
        <button type="button" class="icon-button" aria-label="Keys and help" title="Keys and help (?)" onClick={() => (isHelpOpen.value = true)}>
          <Icon name="help" />
        </button>
      </div>
    </header>
  );
}

const LINKS = { connecting: "Connecting", live: "Live", polling: "Every 5 s", lost: "Lost" };

function Live(): VNode {
  const isPaused = paused.value;
  const tone = link.value === "lost" ? "danger" : isPaused ? "warn" : "good";
  return (
    <button type="button" class={`live tone-${tone}`} aria-pressed={isPaused} title={isPaused ? "Paused: press to go on" : "Press to pause"} onClick={() => pause(!isPaused)}>
      <i aria-hidden="true" />
      {isPaused ? (held.value ? `Paused, ${count(held.value)} changes` : "Paused") : LINKS[link.value]}
    </button>
  );
}

function Banners(): VNode {
  const lost = lostAt.value;
  return (
    <>
      {me.value?.banner && (
        <div class="banner tone-warn" role="note">
          <Icon name="info" />
          <span><Marked text={me.value.banner} /></span>
        </div>
      )}
      {lost !== null && (
        <div class="banner tone-danger" role="alert">
          <Icon name="cause" />
          <span>Connection lost {span(Math.max(0, now.value - lost))} ago. What you see may be old; the console tries again by itself.</span>
        </div>
      )}
    </>
  );
}
