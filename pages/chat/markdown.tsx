// A subset of Markdown as DOM nodes: no HTML, no images, and links to http, https and mailto only.

import { Component, type ComponentChild, type VNode } from "preact";

const LINK = /\[([^\]\n]+)\]\(([^)\s]+)\)/;
const BARE = /\bhttps?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?]/;
const SPANS: [RegExp, (match: RegExpExecArray) => ComponentChild][] = [
  [/`([^`\n]+)`/, (match) => <code>{match[1]}</code>],
  [LINK, (match) => linked(match[2]!, inline(match[1]!), match[0])],
  [BARE, (match) => linked(match[0], match[0], match[0])],
  [/\*\*(?=\S)([^\n]*?\S)\*\*/, (match) => <strong>{inline(match[1]!)}</strong>],
  [/__(?=\S)([^\n]*?\S)__/, (match) => <strong>{inline(match[1]!)}</strong>],
  [/~~(?=\S)([^\n]*?\S)~~/, (match) => <del>{inline(match[1]!)}</del>],
  [/(?<![\w*])\*(?=[^\s*])([^\n]*?[^\s*])\*(?![\w*])/, (match) => <em>{inline(match[1]!)}</em>],
  [/(?<![\w_])_(?=[^\s_])([^\n]*?[^\s_])_(?![\w_])/, (match) => <em>{inline(match[1]!)}</em>],
];

/** A link that opens elsewhere; the text as it is where the address is of another kind. */
export function linked(address: string, label: ComponentChild, otherwise: ComponentChild): ComponentChild {
  if (!isAddress(address)) return otherwise;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow">
      {label}
    </a>
  );
}

export function isAddress(address: unknown): address is string {
  if (typeof address !== "string" || !/^(https?:\/\/|mailto:)/i.test(address)) return false;
  return URL.canParse(address);
}

function inline(text: string): ComponentChild[] {
  return spans(text, SPANS);
}

function spans(text: string, kinds: typeof SPANS): ComponentChild[] {
  const found: ComponentChild[] = [];
  let rest = text;
  while (rest) {
    let first: RegExpExecArray | null = null;
    let make: ((match: RegExpExecArray) => ComponentChild) | null = null;
    for (const [form, maker] of kinds) {
      const match = form.exec(rest);
      if (match && (first === null || match.index < first.index)) [first, make] = [match, maker];
    }
    if (first === null || make === null) break;
    if (first.index) found.push(rest.slice(0, first.index));
    found.push(make(first));
    rest = rest.slice(first.index + first[0].length);
  }
  if (rest) found.push(rest);
  return found;
}

/** Text as it is written, with addresses that can be followed. */
export function Plain({ text }: { text: string }): VNode {
  return <p class="plain" dir="auto">{spans(text, [SPANS[2]!])}</p>;
}

/** Cut a text into blocks. A block does not change when text is appended, except the last one. */
export function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let block: string[] = [];
  let fence = "";
  const close = (): void => {
    if (block.length) blocks.push(block.join("\n"));
    block = [];
  };
  for (const line of text.replace(/\r\n?/g, "\n").split("\n")) {
    const mark = /^\s*(```|~~~)/.exec(line)?.[1] ?? "";
    if (fence) {
      block.push(line);
      if (mark === fence) {
        fence = "";
        close();
      }
    } else if (mark) {
      close();
      fence = mark;
      block.push(line);
    } else if (!line.trim()) {
      close();
    } else {
      if (block.length && kindOf(line) !== kindOf(block[0]!) && !/^\s{2,}/.test(line)) close();
      block.push(line);
    }
  }
  close();
  return blocks;
}

const BULLET = /^\s*[-*+]\s+/;
const NUMBERED = /^\s*\d{1,9}[.)]\s+/;
const HEADING = /^#{1,6}\s+/;
const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;
const QUOTE = /^\s*>\s?/;

function kindOf(line: string): string {
  if (RULE.test(line)) return "rule";
  if (HEADING.test(line)) return "heading";
  if (QUOTE.test(line)) return "quote";
  if (BULLET.test(line)) return "bullet";
  if (NUMBERED.test(line)) return "number";
  return "text";
}

function render(block: string): ComponentChild {
  const lines = block.split("\n");
  const first = lines[0]!;
  if (/^\s*(```|~~~)/.test(first)) {
    const isClosed = lines.length > 1 && /^\s*(```|~~~)\s*$/.test(lines.at(-1)!);
    return (
      <pre tabIndex={0} dir="ltr">
        <code>{lines.slice(1, isClosed ? -1 : undefined).join("\n")}</code>
      </pre>
    );
  }
  switch (kindOf(first)) {
    case "rule":
      return <hr />;
    case "heading":
      return lines.map((line) => <p class="heading" dir="auto">{inline(line.replace(HEADING, ""))}</p>);
    case "quote":
      return <blockquote dir="auto">{broken(lines.map((line) => line.replace(QUOTE, "")))}</blockquote>;
    case "bullet":
      return <ul dir="auto">{items(lines, BULLET)}</ul>;
    case "number":
      return <ol dir="auto" start={parseInt(first, 10) || 1}>{items(lines, NUMBERED)}</ol>;
    default:
      return <p dir="auto">{broken(lines)}</p>;
  }
}

function items(lines: string[], mark: RegExp): VNode[] {
  const found: string[][] = [];
  for (const line of lines) {
    if (mark.test(line)) found.push([line.replace(mark, "")]);
    else found.at(-1)?.push(line.trim());
  }
  return found.map((item) => <li>{broken(item)}</li>);
}

function broken(lines: string[]): ComponentChild[] {
  return lines.flatMap((line, at) => (at ? [<br />, ...inline(line)] : inline(line)));
}

/** A block that is drawn once: only the last block of a growing text is drawn again. */
class Block extends Component<{ source: string }> {
  override shouldComponentUpdate(next: { source: string }): boolean {
    return next.source !== this.props.source;
  }

  override render(): ComponentChild {
    return render(this.props.source);
  }
}

export function Markdown({ text }: { text: string }): VNode {
  return (
    <>
      {blocksOf(text).map((source, at) => (
        <Block key={at} source={source} />
      ))}
    </>
  );
}
