// States as an icon, a word and a colour: never by colour alone.

import type { VNode } from "preact";

import { phrase } from "../lib/words";
import { Icon, type IconName } from "./icon";

export type Tone = "plain" | "accent" | "good" | "warn" | "danger" | "violet" | "muted";

const STATES: Record<string, [Tone, IconName]> = {
  waiting: ["plain", "clock"],
  delayed: ["plain", "timer"],
  rate_limited: ["warn", "limit"],
  waiting_children: ["violet", "fork"],
  active: ["accent", "play"],
  suspended: ["violet", "hand"],
  completed: ["good", "check"],
  failed: ["danger", "cross"],
  cancelled: ["muted", "slash"],
  expired: ["danger", "timer"],
  skipped: ["muted", "skip"],
  // Of graphs, workers, lanes, queues, sessions, revisions and rollouts.
  running: ["accent", "play"],
  open: ["accent", "dot"],
  closed: ["muted", "check"],
  draining: ["warn", "timer"],
  paused: ["warn", "pause"],
  ready: ["good", "check"],
  staged: ["plain", "dots"],
  warming: ["accent", "sun"],
  inactive: ["muted", "slash"],
  archived: ["muted", "archive"],
  idle: ["plain", "dot"],
  parked: ["violet", "hand"],
  person: ["warn", "person"],
  ended: ["muted", "check"],
  ok: ["good", "check"],
  warning: ["warn", "cause"],
  error: ["danger", "cross"],
  live: ["good", "dot"],
  promoted: ["good", "check"],
  aborted: ["danger", "cross"],
  superseded: ["muted", "skip"],
  lost: ["danger", "cross"],
};

export function toneOf(state: string): Tone {
  return STATES[state]?.[0] ?? "plain";
}

export function State({ name, word }: { name: string; word?: string }): VNode {
  const [tone, icon] = STATES[name] ?? ["plain", "dot"];
  return (
    <span class={`chip tone-${tone}`} data-state={name}>
      <Icon name={icon} />
      {word ?? phrase(name)}
    </span>
  );
}

export function Tag({ children, tone = "plain" }: { children: preact.ComponentChildren; tone?: Tone }): VNode {
  return <span class={`tag tone-${tone}`}>{children}</span>;
}

/** The order in which states are listed: what needs a look first. */
export const RUN_STATES = [
  "active",
  "waiting",
  "delayed",
  "rate_limited",
  "waiting_children",
  "suspended",
  "failed",
  "expired",
  "completed",
  "cancelled",
  "skipped",
] as const;

export const ENDED = new Set(["completed", "failed", "cancelled", "expired", "skipped"]);
