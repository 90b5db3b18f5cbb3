// The bar of filters: tokens that are in the address, and a field for more.

import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";

import { add, clear, FILTERS, remove, tokens } from "../lib/filters";
import { useKeys } from "../lib/keys";
import { Icon } from "./icon";

interface Props {
  /** Values to complete, by word. */
  values: Record<string, string[]>;
  words: string[];
}

export function FilterBar({ values, words }: Props): VNode {
  const [text, setText] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useKeys([{ keys: "f", about: "Filter", run: () => field.current?.focus() }]);
  const found = tokens();
  const [, word] = /^(\w+):/.exec(text) ?? [];
  const options = word ? (values[word] ?? []).map((value) => `${word}:${value}`) : words.map((one) => `${one}:`);
  const enter = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && text.trim()) {
      event.preventDefault();
      add(text);
      setText("");
    } else if (event.key === "Backspace" && !text && found.length) remove(found.at(-1)!);
    else if (event.key === "Escape") field.current?.blur();
  };
  return (
    <div class="filters" role="search">
      <Icon name="search" />
      {found.map((token) => (
        <span class="token" key={token.param}>
          <span class="faint">{token.word}</span>
          <b class="clip">{token.value}</b>
          <button type="button" aria-label={`Remove ${token.word} ${token.value}`} onClick={() => remove(token)}><Icon name="close" /></button>
        </span>
      ))}
      <input
        ref={field}
        value={text}
        list="filter-options"
        placeholder={found.length ? "more" : "state:failed  kind:mail.*  tag:region:eu  since:2h"}
        aria-label="Filter"
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={enter}
      />
      <datalist id="filter-options">
        {options.slice(0, 50).map((option) => (
          <option key={option} value={option}>{word ? undefined : FILTERS[option.slice(0, -1)]?.about}</option>
        ))}
      </datalist>
      {found.length > 0 && (
        <button type="button" class="link" onClick={clear}>Clear</button>
      )}
    </div>
  );
}
