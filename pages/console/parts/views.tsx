// Views: filters with a name, ready-made ones and those that this browser keeps.

import type { TargetedSubmitEvent, VNode } from "preact";

import { go, place, to } from "../lib/address";
import { kept } from "../lib/choices";
import { Icon } from "./icon";

const PRESETS: [string, Record<string, string>][] = [
  ["Failed today", { state: "failed,expired", since: "24h" }],
  ["Running", { state: "active" }],
  ["Waiting longest", { state: "waiting,rate_limited", order: "oldest" }],
  ["Waiting for people", { state: "suspended", order: "oldest" }],
];

const own = kept<Record<string, string>>("views", {});

export function Views({ page }: { page: string }): VNode {
  const open = (query: string): void => go(`${to([page], { tenant: null })}?${query}`);
  const save = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name") ?? "").trim();
    if (name) own.value = { ...own.value, [name]: place.value.query.toString() };
    event.currentTarget.reset();
  };
  const drop = (name: string): void => {
    own.value = Object.fromEntries(Object.entries(own.value).filter(([one]) => one !== name));
  };
  return (
    <details class="menu-box">
      <summary class="button">
        <Icon name="star" /> Views
      </summary>
      <div class="menu-list">
        {PRESETS.map(([name, query]) => (
          <button key={name} type="button" class="link" onClick={() => go(to([page], query))}>
            {name}
          </button>
        ))}
        {Object.entries(own.value).map(([name, query]) => (
          <span class="view-row" key={name}>
            <button type="button" class="link" onClick={() => open(query)}>
              {name}
            </button>
            <button type="button" class="icon-button quiet" aria-label={`Remove the view ${name}`} onClick={() => drop(name)}>
              <Icon name="close" />
            </button>
          </span>
        ))}
        <form class="view-row" onSubmit={save}>
          <input name="name" placeholder="Save this view as" aria-label="Name of the view" />
          <button type="submit" class="button slim">
            Save
          </button>
        </form>
      </div>
    </details>
  );
}
