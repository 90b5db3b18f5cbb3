// Filters of lists: the same words in the address, in the bar and in the HTTP query.

import { go, here, param, place, type Query } from "./address";

/** What can be filtered by: the word that people type, and the parameter. */
export const FILTERS: Record<string, { param: string; about: string }> = {
  state: { param: "state", about: "one state or several, with commas" },
  kind: { param: "kind", about: "the task; mail.* for all that start so" },
  lane: { param: "lane", about: "the lane" },
  tag: { param: "tag", about: "a tag, as name:value" },
  error: { param: "error_type", about: "the type of the error" },
  id: { param: "id_prefix", about: "the start of an id" },
  graph: { param: "graph", about: "the members of a graph" },
  parent: { param: "parent", about: "the children of a run" },
  since: { param: "since", about: "created after: 2h, 3d, or a time" },
  until: { param: "until", about: "created before: 2h, 3d, or a time" },
  order: { param: "order", about: "oldest: the oldest first" },
  text: { param: "text", about: "a word in the id, the kind or the tags" },
};
const WORDS: Record<string, string> = { kind_prefix: "kind" };
for (const [word, { param: name }] of Object.entries(FILTERS)) WORDS[name] = word;

export interface Token {
  word: string;
  param: string;
  value: string;
}

/** The filters of this page's address. */
export function tokens(): Token[] {
  const found: Token[] = [];
  for (const [name, value] of place.value.query) if (WORDS[name]) found.push({ word: WORDS[name]!, param: name, value: name === "kind_prefix" ? `${value}*` : value });
  return found;
}

/** Parameters of the address that no filter of this page knows. */
export function unknownParams(known: string[]): string[] {
  return [...place.value.query.keys()].filter((name) => !WORDS[name] && !known.includes(name));
}

/** Add what was typed: `kind:mail.* state:failed ann`. */
export function add(text: string): void {
  const changes: Query = {};
  for (const part of text.match(/(?:[^\s"]|"[^"]*")+/g) ?? []) {
    const [, word, value] = /^(\w+):(.+)$/.exec(part) ?? [];
    const filter = word ? FILTERS[word] : undefined;
    const plain = (value ?? part).replaceAll('"', "");
    if (word === "kind" && plain.endsWith("*")) Object.assign(changes, { kind_prefix: plain.slice(0, -1), kind: null });
    else if (filter) changes[filter.param] = plain;
    else changes.text = part.replaceAll('"', "");
  }
  go(here(changes));
}

export function remove(token: Token): void {
  go(here({ [token.param]: null }));
}

export function clear(): void {
  go(here(Object.fromEntries(Object.keys(WORDS).map((name) => [name, null]))));
}

/** The query of the list; relative times become absolute. */
export function query(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of Object.keys(WORDS)) {
    const value = param(name);
    if (value) found[name] = name === "since" || name === "until" ? moment(value) : value;
  }
  return found;
}

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function moment(text: string): string {
  const [, amount, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (!amount) return text;
  // To the minute, so that the same filter is the same query for a while.
  const at = Date.now() - Number(amount) * UNITS[unit!]!;
  return new Date(at - (at % 60_000)).toISOString();
}
