// A form that filters a page by parameters of its address.

import type { TargetedSubmitEvent, VNode } from "preact";

import { go, here, param } from "../lib/address";
import { Icon } from "./icon";

/** Fields are names of parameters, and what to type. */
export function Search({ fields, verb = "Filter" }: { fields: Record<string, string>; verb?: string }): VNode {
  const search = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    go(here(Object.fromEntries(Object.keys(fields).map((name) => [name, String(form.get(name) ?? "").trim()]))));
  };
  return (
    <form class="filters" onSubmit={search} role="search">
      <Icon name="search" />
      {Object.entries(fields).map(([name, hint]) => <input key={name} name={name} placeholder={hint} aria-label={hint} defaultValue={param(name)} spellcheck={false} />)}
      <button type="submit" class="button slim">{verb}</button>
    </form>
  );
}
