// Payloads: folded, with every digit as it is stored, and never as HTML.

import type { VNode } from "preact";
import { useState } from "preact/hooks";

import { parse, pretty, type Node } from "../lib/exact";
import { bytes, count } from "../lib/words";
import { Copy } from "./basics";
import { Icon } from "./icon";

/** More is shown on demand, so that a large payload does not stop the page. */
const SHOWN_CHARS = 65_536;
const OPEN_ITEMS = 20;
const SHOWN_ITEMS = 100;

/** A value of the API; the digits of its numbers are those of JavaScript. */
export function Value({ value }: { value: unknown }): VNode {
  return <Payload text={JSON.stringify(value) ?? "null"} />;
}

/** The text of a payload as it is stored. */
export function Payload({ text, name = "payload" }: { text: string; name?: string }): VNode {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > SHOWN_CHARS;
  const node = !isLong || isWhole ? parse(text) : null;
  return (
    <div class="json">
      <div class="json-bar">
        <span class="faint small">{bytes(new Blob([text]).size)}</span>
        {isLong && (
          <a class="icon-button quiet" href={`data:application/octet-stream,${encodeURIComponent(text)}`} download={`${name}.json`} aria-label="Download" title="Download">
            <Icon name="download" />
          </a>
        )}
        <Copy text={node ? pretty(node) : text} />
      </div>
      {node ? (
        <div class="json-tree"><Tree node={node} depth={0} /></div>
      ) : <pre>{isLong && !isWhole ? text.slice(0, SHOWN_CHARS) : text}</pre>}
      {isLong && !isWhole && <button type="button" class="button" onClick={() => setWhole(true)}>Show all {bytes(text.length)}</button>}
    </div>
  );
}

function Tree({ node, depth, last = true }: { node: Node; depth: number; last?: boolean }): VNode {
  const comma = last ? "" : ",";
  if (node.kind === "string")
    return (
      <span class="json-string">
        {JSON.stringify(node.value)}
        {comma}
      </span>
    );
  if (node.kind === "plain")
    return (
      <span class={`json-${/^[tfn]/.test(node.text) ? "word" : "number"}`}>
        {node.text}
        {comma}
      </span>
    );
  const [open, close, size] = node.kind === "array" ? ["[", "]", node.items.length] : ["{", "}", node.entries.length];
  if (!size) return <span>{`${open}${close}${comma}`}</span>;
  return <Branch node={node} depth={depth} open={open as string} close={`${close}${comma}`} size={size as number} />;
}

function Branch({ node, depth, open, close, size }: { node: Node; depth: number; open: string; close: string; size: number }): VNode {
  const [isOpen, setOpen] = useState(depth < 2 && size <= OPEN_ITEMS * 5);
  const [shown, setShown] = useState(SHOWN_ITEMS);
  const entries: [string | null, Node][] = node.kind === "object" ? node.entries : node.kind === "array" ? node.items.map((item) => [null, item]) : [];
  return (
    <>
      <button type="button" class="json-fold" aria-expanded={isOpen} aria-label={`${count(size)} ${node.kind === "array" ? "items" : "fields"}`} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "down" : "right"} />
        {open}
        {!isOpen && <span class="faint"> {count(size)} … </span>}
        {!isOpen && close}
      </button>
      {isOpen && (
        <>
          <div class="json-children">
            {entries.slice(0, shown).map(([key, value], at) => (
              <div key={key ?? at} class="json-row">
                {key !== null && <span class="json-key">{JSON.stringify(key)}: </span>}
                <Tree node={value} depth={depth + 1} last={at === entries.length - 1} />
              </div>
            ))}
            {entries.length > shown && (
              <button type="button" class="link" onClick={() => setShown(shown + 1_000)}>{count(entries.length - shown)} more</button>
            )}
          </div>
          <span>{close}</span>
        </>
      )}
    </>
  );
}
