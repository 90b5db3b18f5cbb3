// Views: filters with a name, ready-made ones and those that the store keeps for this key.

import type { TargetedSubmitEvent, VNode } from "preact";

import { go, place, to } from "../lib/address";
import { call, Problem } from "../lib/call";
import { useLoad } from "../lib/load";
import { tell } from "../lib/toasts";
import { Icon } from "./icon";

const PRESETS: [string, Record<string, string>][] = [
  ["Failed today", { state: "failed,expired", since: "24h" }],
  ["Running", { state: "active" }],
  ["Waiting longest", { state: "waiting,rate_limited", order: "oldest" }],
  ["Waiting for people", { state: "suspended", order: "oldest" }],
];

export function Views({ page }: { page: string }): VNode {
  const views = useLoad((signal) => call("GET /v1/views", { signal }), []);
  const change = async (work: Promise<unknown>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      tell(error instanceof Problem ? error.message : String(error), "danger");
    }
    views.reload();
  };
  const save = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name") ?? "").trim();
    if (name) void change(call("PUT /v1/views/{name}", { path: { name }, body: { page, query: place.value.query.toString() } }));
    event.currentTarget.reset();
  };
  return (
    <details class="menu-box">
      <summary class="button">
        <Icon name="star" /> Views
      </summary>
      <div class="menu-list">
        {PRESETS.map(([name, query]) => (
          <button key={name} type="button" class="link" onClick={() => go(to([page], query))}>{name}</button>
        ))}
        {views.data?.items
          .filter((view) => view.page === page)
          .map(({ name, query }) => (
            <span class="view-row" key={name}>
              <button type="button" class="link" onClick={() => go(`${to([page], { tenant: null })}?${query}`)}>{name}</button>
              <button type="button" class="icon-button quiet" aria-label={`Remove the view ${name}`} onClick={() => void change(call("DELETE /v1/views/{name}", { path: { name } }))}>
                <Icon name="close" />
              </button>
            </span>
          ))}
        <form class="view-row" onSubmit={save}>
          <input name="name" placeholder="Save this view as" aria-label="Name of the view" />
          <button type="submit" class="button slim">Save</button>
        </form>
      </div>
    </details>
  );
}
