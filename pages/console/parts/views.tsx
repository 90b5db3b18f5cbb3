// Saved views: filters with a name, kept by the server for this key.

import type { TargetedSubmitEvent, VNode } from "preact";

import { go, place, to } from "../lib/address";
import { call } from "../lib/call";
import { useLoad } from "../lib/load";
import { soft } from "../lib/soft";
import { Icon } from "./icon";

const PRESETS: [string, Record<string, string>][] = [
  ["Failed today", { state: "failed,expired", since: "24h" }],
  ["Running", { state: "active" }],
  ["Waiting longest", { state: "waiting,rate_limited", order: "oldest" }],
  ["Waiting for people", { state: "suspended", order: "oldest" }],
];

export function Views({ page }: { page: string }): VNode {
  const views = useLoad((signal) => soft(call("GET /v1/views", { signal })), [page]);
  const own = (views.data?.items ?? []).filter((view) => view.page === page);
  const open = (query: string): void => go(`${to([page], { tenant: null })}${query ? `?${query}` : ""}`);
  const save = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const name = String(new FormData(form).get("name") ?? "").trim();
    if (!name) return;
    await call("PUT /v1/views/{name}", { path: { name }, body: { page, query: place.value.query.toString() } as never });
    form.reset();
    views.reload();
  };
  const drop = async (name: string): Promise<void> => {
    await call("DELETE /v1/views/{name}", { path: { name } });
    views.reload();
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
        {own.map((view) => (
          <span class="view-row" key={view.name}>
            <button type="button" class="link" onClick={() => open(view.query)}>
              {view.name}
            </button>
            <button type="button" class="icon-button quiet" aria-label={`Remove the view ${view.name}`} onClick={() => void drop(view.name)}>
              <Icon name="close" />
            </button>
          </span>
        ))}
        {views.data && (
          <form class="view-row" onSubmit={save}>
            <input name="name" placeholder="Save this view as" aria-label="Name of the view" />
            <button type="submit" class="button slim">
              Save
            </button>
          </form>
        )}
      </div>
    </details>
  );
}
